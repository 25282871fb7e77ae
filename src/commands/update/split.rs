//! Projects from before `kbr-testing` was a crate: it was the module and feature `testing` of `kbr-runtime`. Pure.

use std::collections::{BTreeMap, BTreeSet};

use crate::cargo_toml::Manifest;
use crate::layout;
use crate::rust::{Code, Segment, UseKind, UseTree};
use crate::tree::Tree;
use crate::vendored;

/// The crate that had the module.
pub const RUNTIME: &str = "kbr-runtime";

/// The feature that it needed.
pub const FEATURE: &str = "testing";

/// The module, as code names it.
const MODULE: [&str; 2] = ["kbr_runtime", "testing"];

/// Whether the project's copy of `kbr-runtime` still has the module.
pub fn is_before(tree: &Tree) -> bool {
    let module = format!("{}src/testing.rs", layout::RUNTIME);
    let recorded = vendored::recorded(tree, layout::RUNTIME);
    recorded.is_some_and(|recorded| recorded.contains(&module))
}

/// Where the owner's files still use the module or its feature: a warning for each file.
pub fn left(files: &BTreeMap<&str, &str>) -> Vec<String> {
    let own = files.iter().filter(|(path, _)| !layout::is_vendored(path));
    let warnings = own.filter_map(|(path, text)| {
        if path.ends_with(layout::MANIFEST) {
            let mut manifest: Manifest = text.parse().ok()?;
            let is_used = manifest.remove_feature(RUNTIME, FEATURE);
            return is_used.then(|| {
                format!(
                    "`{path}`: depend on `kbr-testing` instead of the feature `{FEATURE}` of `{RUNTIME}`"
                )
            });
        }
        let lines = lines(text);
        let word = if lines.len() == 1 { "line" } else { "lines" };
        let lines: Vec<String> = lines.iter().map(usize::to_string).collect();
        (path.ends_with(".rs") && !lines.is_empty()).then(|| {
            format!(
                "`{path}`, {word} {}: replace `kbr_runtime::testing` with `kbr_testing`",
                lines.join(", ")
            )
        })
    });
    warnings.collect()
}

/// The lines of a Rust file that name the module.
fn lines(text: &str) -> BTreeSet<usize> {
    // Most files do not, and need not be read.
    if !MODULE.iter().all(|name| text.contains(name)) {
        return BTreeSet::new();
    }
    let code = Code::read(text);
    let mut found = Vec::new();
    for at in 0..code.len() {
        let names = [code.word(at), code.word(at + 3)];
        if names == MODULE && code.is_separator(at + 1) {
            found.push(code.start(at));
        }
        if code.word(at) == "use"
            && let Some(item) = code.import(at)
        {
            imported(&item.tree, &mut Vec::new(), &mut found);
        }
    }
    found.into_iter().map(|at| code.line(at)).collect()
}

/// Adds where a part of a `use` names the module; `before` is the path that leads to it.
fn imported<'a>(tree: &'a UseTree, before: &mut Vec<&'a Segment>, found: &mut Vec<usize>) {
    let length = before.len();
    before.extend(&tree.segments);
    let mut names = before.iter().map(|segment| segment.text.as_str());
    let is_module = MODULE.iter().all(|name| names.next() == Some(name));
    match &tree.kind {
        _ if is_module => found.push(before[MODULE.len() - 1].range.start),
        UseKind::Group { children, .. } => {
            for child in children {
                imported(child, before, found);
            }
        }
        UseKind::Leaf { .. } => {}
    }
    before.truncate(length);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_name_the_module_is_found() {
        let text = "\
use kbr_runtime::testing::{TestEnv, read};
use kbr_runtime::{Clock, testing};
use kbr_runtime::{
    Flags,
    testing::{FaultProxy, Kubelet},
};
use kbr_runtime::Manager;
use crate::testing;
// kbr_runtime::testing in a comment stays.
fn a(_: &kbr_runtime::testing::Kubelet) { let kbr_runtime = \"testing\"; }
";
        let found: Vec<usize> = lines(text).into_iter().collect();
        assert_eq!(found, [1, 2, 5, 10]);
        let fresh = text.replace("testing", "conditions");
        assert_eq!(lines(&fresh).len(), 0);
    }
}
