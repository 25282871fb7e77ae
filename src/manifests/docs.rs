//! The API reference in Markdown that `kbr docs` writes, from finished CRDs.
//!
//! Each kind has a section, and so has each of its versions, newest first, with a table for each of the
//! project's own objects. Fields are in the order of the CRD, which is that of `kubectl explain`. Kubernetes'
//! own types, which [`crate::manifests::schema`] records, are linked by name and not expanded. Every table
//! and link has an explicit anchor, so that nothing depends on how a site derives anchors from headings.
//! Pure.

mod fields;
mod kubernetes;
mod limits;
mod text;

#[cfg(test)]
mod tests;

use serde_json::Value;

use self::fields::Tables;
use self::text::{code, given, inline, paragraph};
use super::crd::CrdDocument;
use super::json::{is_true, list_of, text_of, texts_of};
use crate::error::join;
use crate::layout::GENERATED;
use crate::yaml::{self, YamlError};

/// A file with samples.
struct Sample<'a> {
    path: &'a str,
    text: &'a str,
    objects: Vec<Value>,
}

/// The reference of all kinds, with their samples, each given with its path. Kubernetes' own types are
/// linked for the minor version `kubernetes`. `None` if there is no kind.
pub(crate) fn reference(
    crds: &[CrdDocument],
    samples: &[(&str, &str)],
    kubernetes: &str,
) -> Result<Option<String>, YamlError> {
    if crds.is_empty() {
        return Ok(None);
    }
    let read = |&(path, text)| {
        let objects = yaml::read(path, text)?;
        Ok(Sample {
            path,
            text,
            objects,
        })
    };
    let samples: Vec<Sample<'_>> = samples.iter().map(read).collect::<Result<_, _>>()?;
    let mut sorted: Vec<&CrdDocument> = crds.iter().collect();
    sorted.sort_by_key(|crd| (&crd.group, &crd.kind));
    let mut text = format!(
        "<!-- {GENERATED} docs. Do not edit: change the types or the samples, and run it again. -->\n\n\
         # API reference\n\n| Kind | API group | Versions |\n|---|---|---|\n"
    );
    for crd in &sorted {
        let versions = join(versions(crd), ", ", |version| {
            let name = text_of(version, "/name");
            format!("[{name}](#{})", anchor(crd, Some(name)))
        });
        let (kind, group, anchor) = (&crd.kind, &crd.group, anchor(crd, None));
        text += &format!("| [{kind}](#{anchor}) | `{group}` | {versions} |\n");
    }
    for crd in sorted {
        text += &kind(crd, &samples, kubernetes);
    }
    Ok(Some(text))
}

/// The anchor of a kind or of one of its versions. Names have no slash, so anchors are unique.
fn anchor(crd: &CrdDocument, version: Option<&str>) -> String {
    let name = format!("{}.{}", crd.plural, crd.group);
    version.map_or(name.clone(), |version| format!("{name}/{version}"))
}

fn versions(crd: &CrdDocument) -> &[Value] {
    list_of(&crd.document, "/spec/versions")
}

fn kind(crd: &CrdDocument, samples: &[Sample<'_>], kubernetes: &str) -> String {
    let document = &crd.document;
    let scope = match text_of(document, "/spec/scope") {
        "Cluster" => "Cluster-scoped",
        _ => "Namespaced",
    };
    let mut text = format!(
        "\n## <a id=\"{}\"></a>{}\n\n{scope} resource `{}.{}`",
        anchor(crd, None),
        crd.kind,
        crd.plural,
        crd.group
    );
    for (words, pointer) in [
        ("short names", "/spec/names/shortNames"),
        ("categories", "/spec/names/categories"),
    ] {
        if let Some(names) = given(codes(document, pointer).join(", ")) {
            text += &format!("; {words}: {names}");
        }
    }
    text += ".\n";
    for one in versions(crd) {
        text += &version(crd, one, samples, kubernetes);
    }
    text
}

/// The texts in a list, each as code.
fn codes(of: &Value, key: &str) -> Vec<String> {
    texts_of(of, key).map(code).collect()
}

fn version(crd: &CrdDocument, version: &Value, samples: &[Sample<'_>], kubernetes: &str) -> String {
    let name = text_of(version, "/name");
    let api_version = format!("{}/{name}", crd.group);
    let anchor = anchor(crd, Some(name));
    let state = match (is_true(version, "/served"), is_true(version, "/storage")) {
        (true, true) => "served and stored",
        (true, false) => "served",
        (false, true) => "not served, but stored",
        (false, false) => "not served",
    };
    let mut text = format!(
        "\n### <a id=\"{anchor}\"></a>{} {name}\n\nAPI version `{api_version}`, {state}.\n",
        crd.kind
    );
    if is_true(version, "/deprecated") {
        let warning = paragraph(text_of(version, "/deprecationWarning"));
        text += &format!("\n**Deprecated.** {warning}\n");
    }
    let schema = &version["schema"]["openAPIV3Schema"];
    let mut notes = notes(version);
    notes.extend(limits::of(schema));
    text += &fields::about(text_of(schema, "/description"), notes);
    for sample in samples {
        let is_it =
            |object: &Value| object["apiVersion"] == api_version && object["kind"] == crd.kind;
        if sample.objects.iter().any(is_it) {
            text += &example(sample);
        }
    }
    let tables = Tables {
        crd,
        version: name,
        kubernetes,
    };
    text + &tables.of(schema)
}

/// What kubectl does with a version.
fn notes(version: &Value) -> Vec<String> {
    let mut notes = Vec::new();
    let column = |column: &Value| {
        let name = inline(text_of(column, "name"));
        let path = code(text_of(column, "jsonPath"));
        let is_wide = column["priority"].as_i64().is_some_and(|it| it > 0);
        let wide = if is_wide { ", with `-o wide`" } else { "" };
        format!("{name} ({path}{wide})")
    };
    let columns = list_of(version, "additionalPrinterColumns");
    let shown = given(join(columns, ", ", column));
    notes.extend(shown.map(|it| format!("`kubectl get` shows {it}.")));
    if let Some(scale) = version.pointer("/subresources/scale") {
        notes.push(format!(
            "`kubectl scale` sets {}, and reads {}.",
            code(text_of(scale, "/specReplicasPath")),
            code(text_of(scale, "/statusReplicasPath"))
        ));
    }
    let selectable = list_of(version, "selectableFields");
    let paths = given(join(selectable, ", ", |field| {
        code(text_of(field, "jsonPath"))
    }));
    notes.extend(paths.map(|it| format!("`kubectl get --field-selector` takes {it}.")));
    notes
}

/// A sample as written, in a fence that nothing in it closes.
fn example(sample: &Sample<'_>) -> String {
    let text = sample.text;
    let longest = text.split(|c| c != '`').map(str::len).max();
    let fence = "`".repeat(longest.unwrap_or_default().max(2) + 1);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!(
        "\nAn example, {}:\n\n{fence}yaml\n{text}{end}{fence}\n",
        code(sample.path)
    )
}
