//! What the CRDs of the project break for the objects and clients of the API server that runs.

use std::path::Path;

use serde_json::Value;

use crate::layout;
use crate::manifests::compat;
use crate::manifests::json::text_of;
use crate::tree::{Tree, read_text};

/// The changes of CRDs between those of the file `live` and those of the project that break objects or clients.
pub fn breaks(live: &Path, tree: &Tree) -> Vec<String> {
    let text = read_text(live).ok().flatten().unwrap_or_default();
    let live: Vec<Value> = serde_json::from_str(&text).unwrap_or_default();
    between(&live, &own(tree))
}

/// The changes between the CRDs of an API server and new ones that break objects or clients. The API server also has those
/// of other operators, and may have none of these yet.
pub fn between(live: &[Value], new: &[Value]) -> Vec<String> {
    let is_own = |crd: &&Value| new.iter().any(|it| name(it) == name(crd));
    let live: Vec<Value> = live.iter().filter(is_own).cloned().collect();
    let changes = compat::compare(&live, new).into_iter();
    let breaks = changes.filter(|change| change.is_break);
    breaks.map(|change| change.to_string()).collect()
}

/// The CRDs that kbr has generated; one that cannot be read is reported when it is applied.
fn own(tree: &Tree) -> Vec<Value> {
    let files = tree.files();
    let crds = files.filter(|(path, _)| path.starts_with(layout::CRD_BASES));
    crds.filter_map(|(_, text)| serde_yaml::from_str(text).ok())
        .collect()
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
}
