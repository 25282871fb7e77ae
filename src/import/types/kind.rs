//! The attribute from which kube derives a kind: everything that a CRD says outside of its schemas. Pure.

use std::fmt::Write;

use serde_json::Value;

use super::Root;
use super::text::{Meta, attribute, literal};
use crate::manifests::json::{fields_of, is_true, list_of, object_of, text_of, texts_of};

pub(super) const APPROVAL: &str = "api-approved.kubernetes.io";

/// The annotation with the version of controller-gen.
const CONTROLLER_GEN: &str = "controller-gen.kubebuilder.io/version";

/// Annotations that the tool which applied or generated a CRD wrote.
const OF_TOOLS: [&str; 3] = [
    "controller-gen.kubebuilder.io/",
    "kubectl.kubernetes.io/",
    "cert-manager.io/inject-ca",
];

/// The attribute from which kube derives the kind.
pub(super) fn kube(root: &Root, has_status: bool) -> String {
    let (crd, version, kind) = (root.crd, root.version, root.kind());
    let names = &crd["spec"]["names"];
    let singular = match text_of(names, "singular") {
        "" => kind.to_ascii_lowercase(),
        singular => singular.to_owned(),
    };
    let mut kube = vec![
        Meta::text("group", text_of(crd, "/spec/group")),
        Meta::text("version", text_of(version, "name")),
        Meta::text("kind", kind),
    ];
    if root.type_name() != kind {
        kube.push(Meta::text("root", &root.type_name()));
    }
    kube.extend([
        Meta::text("plural", text_of(names, "plural")),
        Meta::text("singular", &singular),
    ]);
    let texts = |key: &str, name: &'static str| {
        let texts: Vec<Meta> = texts_of(names, key)
            .map(|text| Meta::text(name, text))
            .collect();
        texts
    };
    kube.extend(texts("shortNames", "shortname"));
    kube.extend(texts("categories", "category"));
    if text_of(crd, "/spec/scope") != "Cluster" {
        kube.push(Meta::word("namespaced"));
    }
    if root.outer.is_whole {
        kube.push(Meta::word("no_spec"));
    }
    if has_status {
        kube.push(Meta::text("status", &(root.type_name() + "Status")));
    }
    let doc = text_of(root.schema, "description");
    if !doc.trim().is_empty() {
        kube.push(Meta::Word(format!(
            "doc = {}",
            literal(&documentation(doc))
        )));
    }
    kube.push(Meta::text("derive", "PartialEq"));
    if !is_true(version, "served") {
        kube.push(Meta::word("served = false"));
    }
    match version.get("deprecationWarning").and_then(Value::as_str) {
        Some(warning) if is_true(version, "deprecated") => {
            kube.push(Meta::text("deprecated", warning))
        }
        _ if is_true(version, "deprecated") => kube.push(Meta::word("deprecated")),
        _ => {}
    }
    kube.extend(metadata(crd));
    kube.extend(shown(version));
    let mut text = attribute("kube", kube, 0);
    for rule in list_of(root.schema, "x-kubernetes-validations") {
        let _ = writeln!(text, "#[kube(validation = {})]", rule_of(rule));
    }
    text
}

/// The annotations and labels of a CRD that are its author's.
fn metadata(crd: &Value) -> Vec<Meta> {
    let mut kube = Vec::new();
    for (key, name) in [("annotations", "annotation"), ("labels", "label")] {
        let values = object_of(crd, &format!("/metadata/{key}"))
            .into_iter()
            .flatten();
        let kept = values.filter(|(key, _)| !OF_TOOLS.iter().any(|tool| key.starts_with(tool)));
        kube.extend(kept.filter_map(|(key, value)| {
            let words = [key.as_str(), value.as_str()?].map(|text| Meta::Word(literal(text)));
            Some(Meta::list(name, words.to_vec()))
        }));
    }
    kube
}

/// The subresource `scale`, the selectable fields and the columns of a version.
fn shown(version: &Value) -> Vec<Meta> {
    let mut kube = Vec::new();
    if let Some(scale) = version.pointer("/subresources/scale") {
        let paths = [
            ("spec_replicas_path", "specReplicasPath"),
            ("status_replicas_path", "statusReplicasPath"),
            ("label_selector_path", "labelSelectorPath"),
        ];
        let paths = paths
            .into_iter()
            .filter(|(_, key)| scale.get(key).is_some());
        let paths = paths.map(|(name, key)| Meta::text(name, text_of(scale, key)));
        kube.push(Meta::list("scale", paths.collect()));
    }
    kube.extend(
        list_of(version, "selectableFields")
            .iter()
            .map(|it| Meta::text("selectable", text_of(it, "jsonPath"))),
    );
    kube.extend(
        list_of(version, "additionalPrinterColumns")
            .iter()
            .map(column),
    );
    kube
}

fn column(column: &Value) -> Meta {
    let mut words = vec![
        Meta::text("name", text_of(column, "name")),
        Meta::text("type_", text_of(column, "type")),
        Meta::text("json_path", text_of(column, "jsonPath")),
    ];
    for key in ["description", "format"] {
        if let Some(text) = column.get(key).and_then(Value::as_str) {
            words.push(Meta::text(key, text));
        }
    }
    if let Some(priority) = column.get("priority").and_then(Value::as_i64) {
        words.push(Meta::word(format!("priority = {priority}")));
    }
    Meta::list("printcolumn", words)
}

fn rule_of(rule: &Value) -> String {
    let mut text = format!("Rule::new({})", literal(text_of(rule, "rule")));
    let expression = text_of(rule, "messageExpression");
    let message = text_of(rule, "message");
    // kube has one of them; the expression is the message unless it fails.
    if !expression.is_empty() {
        let _ = write!(
            text,
            ".message(Message::Expression({}.to_owned()))",
            literal(expression)
        );
    } else if !message.is_empty() {
        let _ = write!(text, ".message({})", literal(message));
    }
    let reason = text_of(rule, "reason");
    if !reason.is_empty() {
        let _ = write!(text, ".reason(Reason::{reason})");
    }
    let path = text_of(rule, "fieldPath");
    if !path.is_empty() {
        let _ = write!(text, ".field_path({})", literal(path));
    }
    if is_true(rule, "optionalOldSelf") {
        text += ".optional_old_self(true)";
    }
    text
}

/// The description of a kind, in which no line is read as code.
fn documentation(text: &str) -> String {
    let lines = text
        .lines()
        .map(|line| line.trim_end().replace("```", "''"));
    let lines = lines.map(|line| {
        if line.starts_with("    ") || line.starts_with('\t') {
            format!("   {}", line.trim_start())
        } else {
            line
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Whether controller-gen has generated a CRD.
pub(crate) fn is_of_go(crd: &Value) -> bool {
    object_of(crd, "/metadata/annotations").is_some_and(|it| it.contains_key(CONTROLLER_GEN))
}

/// The options of `kbr create webhook` for the webhook that converts the versions of a CRD, if it has one.
pub(crate) fn conversion(crd: &Value) -> Option<String> {
    let versions = list_of(crd, "/spec/versions");
    if text_of(crd, "/spec/conversion/strategy") != "Webhook" || versions.len() < 2 {
        return None;
    }
    let (stored, others): (Vec<_>, Vec<_>) = versions
        .iter()
        .partition(|version| is_true(version, "storage"));
    let name = |version: &&Value| text_of(*version, "name").to_owned();
    let hub: String = stored.iter().map(name).collect();
    let spokes = others.iter().map(|it| format!(" --spoke {}", name(it)));
    let kind = text_of(crd, "/spec/names/kind");
    let spokes: String = spokes.collect();
    Some(format!(
        "--kind {kind} --version {hub} --conversion{spokes}"
    ))
}

/// What a kind of that CRD loses.
pub(super) fn warnings(crd: &Value) -> Vec<String> {
    let (kind, group) = (
        text_of(crd, "/spec/names/kind"),
        text_of(crd, "/spec/group"),
    );
    let mut warnings = Vec::new();
    let versions = list_of(crd, "/spec/versions");
    for version in versions {
        let rules = list_of(version, "/schema/openAPIV3Schema/x-kubernetes-validations");
        let has = |rule: &Value, key: &str| !text_of(rule, key).is_empty();
        for rule in rules
            .iter()
            .filter(|it| has(it, "message") && has(it, "messageExpression"))
        {
            let (version, rule) = (text_of(version, "name"), text_of(rule, "rule"));
            warnings.push(format!(
                "{group}/{version} {kind}: the rule `{rule}` of the whole object keeps its messageExpression, and loses \
                 its message, which is shown where the expression fails"
            ));
        }
    }
    for version in versions {
        let metadata = version.pointer("/schema/openAPIV3Schema/properties/metadata");
        if metadata.is_some_and(|it| fields_of(it).next().is_some()) {
            warnings.push(format!(
                "{group}/{} {kind}: what the schema says about `metadata` is lost; a rule of the kind can say it: \
                 `#[kube(validation = Rule::new(\"self.metadata.name.size() < 60\"))]`",
                text_of(version, "name")
            ));
        }
    }
    let list = text_of(crd, "/spec/names/listKind");
    if !list.is_empty() && list != format!("{kind}List") {
        warnings.push(format!(
            "the list of {group} {kind} was called {list}, and will be {kind}List"
        ));
    }
    warnings
}
