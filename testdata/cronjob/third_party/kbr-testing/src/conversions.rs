// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Proves that a conversion loses nothing, with generated objects.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use kbr_runtime::internal::{Difference, Kind, Mapping, Side as Version, rewrite};
use kbr_runtime::webhook::Converter;
use proptest::prelude::*;
use proptest::test_runner::{TestError, TestRunner};
use serde_json::Value;

use super::values::{metadata, values};

/// Where `kbr manifests` writes schemas.
const CRDS: &str = "config/crd/bases";

/// Proves that objects come back unchanged after `converter` converts them to the other version and
/// back, whatever they contain, and that only the fields that `carried` lists are carried in the
/// annotation.
///
/// Objects are generated that the schemas in `config/crd/bases` of the project whose root is
/// `project` allow, 256 for each direction, or as many as `$PROPTEST_CASES` says. Each is converted
/// and converted back. In between, only the annotation of carried fields may differ in its
/// metadata.
///
/// A field is carried when the converter alone would not restore it: the other version has no place
/// for it, or the converter forgets it. Only a person can tell the two apart, so `carried` lists the
/// former, each as a version and a path, such as `("v1", "spec.schedule")`. A path consists of the
/// names that `kubectl explain` shows, and covers everything below it as well. It ends at a list or
/// a map: fields inside them have no path of their own.
///
/// # Panics
///
/// - When an object does not come back unchanged, or the types of the project cannot read it
///   although its schema allows it. The smallest such object found is shown.
/// - When a field is carried but not listed. Its version and path are shown.
/// - When the schema of its version does not have a listed field.
/// - When the schema of either version is missing.
#[track_caller]
pub fn conversion_loses_nothing<C: Converter>(
    project: impl AsRef<Path>,
    converter: C,
    carried: &[(&str, &str)],
) {
    if super::suite::Suite::current().is_some() {
        // This sends no requests to an API server, so none can be refused.
        return;
    }
    let crds = Crds::read(project.as_ref());
    let kind = Kind::of::<C::Hub>();
    let mapping = Mapping::of(converter, Default::default());
    let hub = Side {
        version: &mapping.hub,
        schema: crds.schema(&kind, &mapping.hub.version),
        rewrite: rewrite::<C::Hub>,
    };
    let spoke = Side {
        version: &mapping.spoke,
        schema: crds.schema(&kind, &mapping.spoke.version),
        rewrite: rewrite::<C::Spoke>,
    };
    let listed: Fields = carried
        .iter()
        .map(|(version, path)| ((*version).to_owned(), (*path).to_owned()))
        .collect();
    let name = format!("{} of {}", kind.kind, kind.group);
    if let Some(message) = unknown(&listed, [&hub, &spoke]) {
        panic!("{name}: {message}");
    }
    let mut found = BTreeMap::new();
    for (from, to) in [(&hub, &spoke), (&spoke, &hub)] {
        let way = RoundTrip {
            kind: &kind,
            mapping: &mapping,
            from,
            to,
        };
        for (path, change) in way.prove() {
            found.insert((from.name().to_owned(), path), change);
        }
    }
    if let Some(message) = unlisted(found, listed) {
        panic!(
            "{name}, converted between {} and {}: {message}",
            hub.name(),
            spoke.name()
        );
    }
}

/// Fields, each by its version and its path.
type Fields = BTreeSet<(String, String)>;

/// Lists the fields that exist in no schema, and what to do, if there are any.
fn unknown(listed: &Fields, sides: [&Side; 2]) -> Option<String> {
    let is_known = |(version, path): &&(String, String)| {
        let side = sides.iter().find(|side| side.name() == version);
        side.is_some_and(|side| has_field(side.schema, path))
    };
    let unknown = listed.iter().filter(|field| !is_known(field));
    let lines: String = unknown
        .map(|(version, path)| format!("  {version} {path}\n"))
        .collect();
    (!lines.is_empty()).then(|| {
        format!(
            "fields are listed as carried, but no schema has them:\n{lines}\
             Remove them from the list, or correct their paths: `spec.name` is a path, and fields \
             in a list or a map have none."
        )
    })
}

/// Lists the fields that are carried but not listed, and what to do, if there are any.
fn unlisted(mut found: BTreeMap<(String, String), String>, mut listed: Fields) -> Option<String> {
    found.retain(|field, _| !listed.iter().any(|listed| covers(listed, field)));
    let paths: Fields = found.keys().cloned().collect();
    found.retain(|field, _| {
        !paths
            .iter()
            .any(|path| path != field && covers(path, field))
    });
    if found.is_empty() {
        return None;
    }
    let lines: String = found
        .iter()
        .map(|((version, path), change)| format!("  {version} {path}: {change}\n"))
        .collect();
    listed.retain(|listed| !found.keys().any(|field| covers(field, listed)));
    listed.extend(found.into_keys());
    let list: String = listed
        .iter()
        .map(|(version, path)| format!("    ({version:?}, {path:?}),\n"))
        .collect();
    Some(format!(
        "these fields are kept only in the annotation:\n{lines}\
         Map each of them in the converter. If the other version has no place for it, list it in \
         the test:\n\
         const CARRIED: &[(&str, &str)] = &[\n{list}];"
    ))
}

/// Whether the first field is the second one or contains it.
fn covers((version, path): &(String, String), (other, below): &(String, String)) -> bool {
    let rest = below.strip_prefix(path.as_str());
    version == other && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Whether `schema` has a field at `path`. Names may contain dots.
fn has_field(schema: &Value, path: &str) -> bool {
    let properties = schema["properties"].as_object().into_iter().flatten();
    properties
        .filter_map(|(name, below)| Some((path.strip_prefix(name.as_str())?, below)))
        .any(|(rest, below)| {
            let rest_below = rest.strip_prefix('.');
            rest.is_empty() || rest_below.is_some_and(|rest| has_field(below, rest))
        })
}

/// The path of the innermost field of `schema` that `names` lead to or into; empty if there is
/// none.
fn path(schema: &Value, names: impl Iterator<Item = String>) -> String {
    let (mut schema, mut path) = (schema, String::new());
    for name in names {
        let Some(below) = schema["properties"].get(&name) else {
            break;
        };
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(&name);
        schema = below;
    }
    path
}

/// The CRDs of a project.
struct Crds {
    folder: PathBuf,
    documents: Vec<Value>,
}

impl Crds {
    fn read(project: &Path) -> Self {
        let folder = project.join(CRDS);
        let files = fs::read_dir(&folder)
            .unwrap_or_else(|error| panic!("`{}`: {error}; run `kbr manifests`", folder.display()));
        let mut documents = Vec::new();
        for file in files.flatten().map(|file| file.path()) {
            if file
                .extension()
                .is_some_and(|extension| extension == "yaml")
            {
                let text = fs::read_to_string(&file);
                let text = text.unwrap_or_else(|error| panic!("`{}`: {error}", file.display()));
                let read: Vec<Value> = serde_saphyr::from_multiple(&text)
                    .unwrap_or_else(|error| panic!("`{}`: {error}", file.display()));
                documents.extend(read);
            }
        }
        Self { folder, documents }
    }

    fn schema(&self, kind: &Kind, version: &str) -> &Value {
        let is_of_kind = |crd: &&Value| {
            let spec = &crd["spec"];
            spec["group"] == kind.group.as_str() && spec["names"]["kind"] == kind.kind.as_str()
        };
        let crds = self.documents.iter().filter(is_of_kind);
        let mut versions = crds
            .filter_map(|crd| crd["spec"]["versions"].as_array())
            .flatten();
        let Some(found) = versions.find(|found| found["name"] == version) else {
            panic!(
                "`{}` has no {} in version {version} of {}; run `kbr manifests`",
                self.folder.display(),
                kind.kind,
                kind.group
            );
        };
        &found["schema"]["openAPIV3Schema"]
    }
}

/// A version, and how to convert objects from it.
struct Side<'a> {
    version: &'a Version,
    /// The one that `kbr manifests` wrote.
    schema: &'a Value,
    /// Rewrites an object of this version as its type serializes it.
    rewrite: fn(&Value) -> Result<Value, String>,
}

impl Side<'_> {
    fn name(&self) -> &str {
        &self.version.version
    }
}

/// A conversion from one version to another and back.
struct RoundTrip<'a> {
    kind: &'a Kind,
    mapping: &'a Mapping,
    from: &'a Side<'a>,
    to: &'a Side<'a>,
}

impl RoundTrip<'_> {
    /// Tries it with objects of the schema, and returns the paths of the fields that were carried,
    /// each with the shortest example.
    fn prove(&self) -> BTreeMap<String, String> {
        let config = ProptestConfig {
            failure_persistence: None,
            max_shrink_time: 10_000,
            ..ProptestConfig::default()
        };
        let api_version = self.api_version(self.from);
        let objects = (values(self.from.schema), metadata()).prop_map(|(mut object, metadata)| {
            object["apiVersion"] = api_version.as_str().into();
            object["kind"] = self.kind.kind.as_str().into();
            object["metadata"] = metadata;
            object
        });
        let carried = RefCell::new(BTreeMap::new());
        let outcome = TestRunner::new(config).run(&objects, |object| {
            let differences = self.attempt(&object).map_err(TestCaseError::fail)?;
            for difference in differences {
                // The API server prunes fields that the schema does not have.
                let path = path(self.from.schema, difference.names());
                if !path.is_empty() {
                    keep_shortest(&mut carried.borrow_mut(), path, difference.change());
                }
            }
            Ok(())
        });
        let way = format!(
            "{} of {} in version {}, converted to {} and back",
            self.kind.kind,
            self.kind.group,
            self.from.name(),
            self.to.name()
        );
        match outcome {
            Ok(()) => carried.into_inner(),
            Err(TestError::Fail(reason, object)) => {
                let object = serde_json::to_string_pretty(&object).unwrap_or_default();
                panic!("{way}: {reason}\nthe smallest such object found:\n{object}");
            }
            Err(TestError::Abort(reason)) => {
                panic!("{way}: no objects could be generated: {reason}")
            }
        }
    }

    /// Converts `object` and converts it back, and returns what the converter alone would have
    /// lost.
    ///
    /// The comparison uses the object as its type serializes it: no converter can tell null from a
    /// missing field, or a missing field from a default.
    fn attempt(&self, object: &Value) -> Result<Vec<Difference>, String> {
        let (from, to) = (self.from, self.to);
        let failed = |side, error| {
            let version = self.api_version(side);
            format!("{version} could not be converted: {error}")
        };
        (from.version.leave)(object).map_err(|error| failed(from, error))?;
        let converted = self.convert(object, from, to)?;
        let alone = (to.version.leave)(&converted).map_err(|error| failed(to, error))?;
        if self.other_metadata(&converted) != self.other_metadata(object) {
            return Err(format!("its metadata became {}", converted["metadata"]));
        }
        let back = self.convert(&converted, to, from)?;
        if back == *object {
            let written = (from.rewrite)(object).map_err(|error| failed(from, error))?;
            return Ok(Difference::between(&alone, &written));
        }
        let differences = Difference::between(&back, object);
        let mut lines: Vec<String> = differences.iter().map(ToString::to_string).collect();
        if back["metadata"] != object["metadata"] {
            lines.push(format!("/metadata came back as {}", back["metadata"]));
        }
        Err(format!(
            "it did not come back unchanged\n{}",
            lines.join("\n")
        ))
    }

    fn convert(&self, object: &Value, from: &Side, to: &Side) -> Result<Value, String> {
        let object = object.to_string();
        let converted = self.mapping.convert(&object, from.version, to.version);
        let converted = converted
            .and_then(|text| serde_json::from_str(&text).map_err(|error| error.to_string()));
        let version = self.api_version(from);
        converted.map_err(|error| format!("{version} could not be converted: {error}"))
    }

    /// The metadata without the annotation of carried fields.
    fn other_metadata(&self, object: &Value) -> Value {
        let mut metadata = object["metadata"].clone();
        if let Some(Value::Object(annotations)) = metadata.get_mut("annotations") {
            annotations.remove(&self.kind.annotation());
            if annotations.is_empty() {
                metadata["annotations"].take();
            }
        }
        if metadata["annotations"].is_null()
            && let Some(metadata) = metadata.as_object_mut()
        {
            metadata.remove("annotations");
        }
        metadata
    }

    fn api_version(&self, side: &Side) -> String {
        format!("{}/{}", self.kind.group, side.name())
    }
}

/// Records an example for a path, unless there is a shorter one.
fn keep_shortest(examples: &mut BTreeMap<String, String>, path: String, example: String) {
    let kept = examples.get(&path);
    if kept.is_none_or(|kept| example.len() < kept.len()) {
        examples.insert(path, example);
    }
}
