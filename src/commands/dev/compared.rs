//! What the CRDs of the project break for the objects and clients of the API server that runs.

use std::path::Path;

use serde_json::Value;

use super::session::Session;
use crate::kustomize::objects;
use crate::layout;
use crate::manifests::compat;
use crate::manifests::json::text_of;
use crate::report::{Happening, Level};
use crate::tree::{Tree, read_text};

impl Session<'_> {
    /// Tells what the CRDs of the project break on the API server that runs.
    pub(super) fn compare_crds(&self) {
        let ready = self.helper.as_ref().and_then(|it| it.ready.as_ref());
        match ready.map(|ready| breaks(&ready.crds, &self.tree)) {
            Some(Ok(breaks)) => self.tell_breaks(&breaks),
            Some(Err(reason)) => self.fail("error", &reason),
            None => {}
        }
    }

    pub(super) fn tell_breaks(&self, breaks: &[String]) {
        for text in breaks {
            self.tell(Happening::new("break", Level::Warning, "Breaks").text(text));
        }
    }
}

/// The changes of CRDs between those of the file `live` and those of the project that break objects or clients, or which
/// file cannot be read.
fn breaks(live: &Path, tree: &Tree) -> Result<Vec<String>, String> {
    let text = read_text(live).map_err(|error| error.to_string())?;
    let found = listed(text.as_deref().unwrap_or("not UTF-8"));
    let live = found.map_err(|why| format!("`{}` {why}", live.display()))?;
    let own = objects(tree, layout::CRD_BASES).map_err(|error| error.to_string())?;
    Ok(between(&live, &own))
}

/// The objects in a text of JSON: a list, what kubectl prints for several objects, for one, or nothing.
pub(super) fn listed(text: &str) -> Result<Vec<Value>, String> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let value: Value =
        serde_json::from_str(text).map_err(|error| format!("is not JSON: {error}"))?;
    let items = value.as_array().or(value["items"].as_array());
    Ok(items.cloned().unwrap_or_else(|| vec![value]))
}

/// The changes between the CRDs of an API server and new ones that break objects or clients. The API server also has those
/// of other operators, and may have none of these yet.
pub(super) fn between(live: &[Value], new: &[Value]) -> Vec<String> {
    let is_own = |crd: &&Value| new.iter().any(|it| name(it) == name(crd));
    let live: Vec<Value> = live.iter().filter(is_own).cloned().collect();
    let changes = compat::compare(&live, new).into_iter();
    let breaks = changes.filter(|change| change.is_break);
    breaks.map(|change| change.to_string()).collect()
}

fn name(crd: &Value) -> &str {
    text_of(crd, "/metadata/name")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_crd_that_is_not_installed_yet_breaks_nothing() {
        let crd = |name: &str| json!({ "metadata": { "name": name }, "spec": { "versions": [{ "name": "v1" }] } });
        let new = [crd("a.example.com")];
        for live in [Value::Null, crd("b.example.com")] {
            assert_eq!(between(&[live], &new), [""; 0]);
        }
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("crds.json");
        let live = file.display();
        let told = |live: &[u8], own: &str| {
            std::fs::write(&file, live).expect("a file");
            let path = format!("{}a.yaml", layout::CRD_BASES);
            breaks(&file, &[(path.as_str(), own)].into())
        };
        assert_eq!(told(b"[]", "a: 1\n"), Ok(Vec::new()));
        let own = told(b"[]", "a: 1\nb: [\n").expect_err("no YAML");
        assert!(own.starts_with("`config/crd/bases/a.yaml:"), "{own}");
        for broken in [&b"[{"[..], b"\xff"] {
            let why = told(broken, "a: 1\n").expect_err("no JSON");
            assert!(why.starts_with(&format!("`{live}` is not JSON: ")), "{why}");
        }
        std::fs::remove_file(&file).expect("the file");
        let why = breaks(&file, &Tree::default()).expect_err("no file");
        assert!(why.contains(&live.to_string()), "{why}");
    }

    #[test]
    fn what_kubectl_prints_is_a_list_an_object_or_nothing() {
        for (text, expected) in [
            ("", json!([])),
            ("[1]", json!([1])),
            (r#"{"kind":"List","items":[1,2]}"#, json!([1, 2])),
            (r#"{"kind":"A"}"#, json!([{ "kind": "A" }])),
        ] {
            assert_eq!(listed(text).map(Value::from), Ok(expected), "{text}");
        }
        assert!(listed("error").is_err_and(|why| why.starts_with("is not JSON: ")));
    }
}
