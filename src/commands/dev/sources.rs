//! What a change of files means for a running operator. Pure.

use std::collections::BTreeSet;

use crate::layout;
use crate::rust::marker::PREFIXES;
use crate::tree::Tree;

/// What differs between two states of a project.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Changed {
    /// What the operator is built from.
    pub(crate) code: bool,
    /// Types or markers, from which kbr generates manifests.
    pub(crate) manifests: bool,
    /// What is deployed.
    pub(crate) config: bool,
    pub(crate) samples: bool,
}

impl Changed {
    pub(super) fn between(old: &Tree, new: &Tree) -> Self {
        let differs = |is_of: &dyn Fn(&str) -> bool| {
            let files = |tree| files_of(tree, is_of).collect::<BTreeSet<_>>();
            files(old) != files(new)
        };
        Self {
            code: differs(&is_code),
            manifests: differs(&is_type) || marked(old) != marked(new),
            config: differs(&is_config),
            samples: differs(&|path| path.starts_with(layout::SAMPLES)),
        }
    }

    pub(super) fn is_any(self) -> bool {
        self != Self::default()
    }
}

fn files_of<'a>(
    tree: &'a Tree,
    is_of: &dyn Fn(&str) -> bool,
) -> impl Iterator<Item = (&'a str, &'a str)> {
    tree.files().filter(move |(path, _)| is_of(path))
}

/// Whether cargo builds the operator from that file.
fn is_code(path: &str) -> bool {
    let [types, sources] = layout::SOURCES;
    let is_source = path.starts_with(types) || path.starts_with(sources) || is_of_member(path);
    (is_source && path != layout::CRDGEN)
        || layout::is_vendored(path)
        || path.ends_with(layout::MANIFEST)
        || ["Cargo.lock", "build.rs"].contains(&path)
}

/// Whether the file is code of another package of the workspace.
fn is_of_member(path: &str) -> bool {
    const APART: [&str; 4] = ["api/", "tests/", "examples/", "benches/"];
    path.ends_with(".rs") && !APART.iter().any(|folder| path.starts_with(folder))
}

fn is_type(path: &str) -> bool {
    let [types, _] = layout::SOURCES;
    path.starts_with(types) && path != layout::CRDGEN
}

fn is_config(path: &str) -> bool {
    path.starts_with(layout::CONFIG) && !path.starts_with(layout::SAMPLES)
}

/// The lines that kbr reads in the sources: markers, and the paths of constants to which a webhook marker may refer.
fn marked(tree: &Tree) -> Vec<(&str, &str)> {
    let [_, sources] = layout::SOURCES;
    let lines = tree
        .files()
        .filter(|(path, _)| path.starts_with(sources) || is_of_member(path))
        .flat_map(|(path, text)| {
            let has_webhook = PREFIXES
                .iter()
                .any(|prefix| text.contains(&format!("{prefix}webhook:")));
            text.lines()
                .map(move |line| (path, line.trim(), has_webhook))
        });
    let read = lines.filter(|(_, line, has_webhook)| {
        let is_marker = PREFIXES.iter().any(|prefix| line.contains(prefix));
        is_marker || *has_webhook && line.contains("\"/")
    });
    read.map(|(path, line, _)| (path, line)).collect()
}

/// Where the markers of the controller with that name are, as `path:line`: below the last of them, or at its reconcile.
pub(super) fn place_of_rights(tree: &Tree, controller: &str) -> Option<String> {
    let [_, sources] = layout::SOURCES;
    let added = format!("(\"{controller}\",");
    let mut files = tree
        .files()
        .filter(|(path, _)| path.starts_with(sources) && path.ends_with(".rs"));
    let (path, text) = files.find(|(_, text)| text.contains(&added))?;
    let lines: Vec<_> = text.lines().map(str::trim_start).collect();
    let is_right = |line: &&str| line.starts_with("// +") && line.contains(":rbac:");
    let last = lines.iter().rposition(is_right).map(|at| at + 1);
    let reconcile = || {
        let mut lines = lines.iter();
        lines.position(|line| line.starts_with("async fn reconcile"))
    };
    let at = last.or_else(reconcile)?;
    Some(format!("{path}:{}", at + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> Tree {
        files.iter().copied().collect()
    }

    const CONTROLLER: &str = "// +kbr:rbac:groups=core,resources=pods,verbs=get\nfn a() {}\n";

    fn project() -> Vec<(&'static str, &'static str)> {
        vec![
            ("Cargo.toml", "[package]\n"),
            ("README.md", "# A\n"),
            ("api/README.md", "# A\n"),
            ("api/src/v1.rs", "struct A;\n"),
            ("src/controller.rs", CONTROLLER),
            ("tools/Cargo.toml", "[package]\n"),
            ("tools/src/lib.rs", CONTROLLER),
            (
                "src/webhook.rs",
                "// +kbr:webhook:mutating=true\nconst A: u8 = 1;\nconst PATH: &str = \"/a\";\n",
            ),
            ("config/rbac/role.yaml", "a: 1\n"),
            ("config/samples/a.yaml", "a: 1\n"),
            ("tests/it/main.rs", "fn a() {}\n"),
            ("third_party/kbr-runtime/src/lib.rs", "fn a() {}\n"),
        ]
    }

    /// What it means that a file has this text.
    fn edited(path: &str, text: &str) -> Changed {
        let old = project();
        let new: Vec<_> = old
            .iter()
            .map(|(at, was)| (*at, if *at == path { text } else { was }))
            .collect();
        Changed::between(&tree(&old), &tree(&new))
    }

    const NOTHING: Changed = Changed {
        code: false,
        manifests: false,
        config: false,
        samples: false,
    };
    const CODE: Changed = Changed {
        code: true,
        ..NOTHING
    };

    #[test]
    fn a_file_means_what_is_made_from_it() {
        let manifests = Changed {
            manifests: true,
            ..CODE
        };
        let config = Changed {
            config: true,
            ..NOTHING
        };
        let samples = Changed {
            samples: true,
            ..NOTHING
        };
        let more = format!("{CONTROLLER}// more\n");
        let other = CONTROLLER.replace("get", "list");
        let without = CONTROLLER.lines().last().unwrap_or_default();
        let constant = format!("{CONTROLLER}const A: &str = \"/a\";\n");
        let webhook =
            "// +kbr:webhook:mutating=true\nconst A: u8 = 1;\nconst PATH: &str = \"/a\";\n";
        let renumbered = webhook.replace("= 1", "= 2");
        let elsewhere = webhook.replace("/a", "/b");
        for (path, text, expected) in [
            ("README.md", "", NOTHING),
            ("src/controller.rs", &constant, CODE),
            ("src/webhook.rs", &renumbered, CODE),
            ("src/webhook.rs", &elsewhere, manifests),
            ("api/README.md", "", NOTHING),
            ("tests/it/main.rs", "", NOTHING),
            ("src/controller.rs", CONTROLLER, NOTHING),
            ("src/controller.rs", &more, CODE),
            ("src/controller.rs", &other, manifests),
            ("tools/src/lib.rs", &more, CODE),
            ("tools/src/lib.rs", &other, manifests),
            ("tools/Cargo.toml", "", CODE),
            ("src/controller.rs", without, manifests),
            ("api/src/v1.rs", "struct B;\n", manifests),
            ("Cargo.toml", "", CODE),
            ("third_party/kbr-runtime/src/lib.rs", "", CODE),
            ("config/rbac/role.yaml", "a: 2\n", config),
            ("config/samples/a.yaml", "a: 2\n", samples),
        ] {
            assert_eq!(edited(path, text), expected, "{path}: {text}");
        }
    }

    #[test]
    fn the_place_of_a_right_is_below_the_others() {
        let added = "manager.add(\"captain\", controller, reconcile);\n";
        let reconcile = "async fn reconcile() {}\n";
        let right = "// +kbr:rbac:groups=core,resources=pods,verbs=get\n";
        let place = |text: &str| {
            let files = tree(&[("src/controller.rs", ""), ("src/controller/a.rs", text)]);
            place_of_rights(&files, "captain")
        };
        let with = format!("{added}{right}{right}\n{reconcile}");
        assert_eq!(place(&with).as_deref(), Some("src/controller/a.rs:4"));
        let without = format!("{added}\n{reconcile}");
        assert_eq!(place(&without).as_deref(), Some("src/controller/a.rs:3"));
        assert_eq!(place(reconcile), None);
    }

    #[test]
    fn a_file_that_comes_or_goes_is_a_change() {
        let old = project();
        for (at, (path, _)) in old.iter().enumerate() {
            let mut new = old.clone();
            new.remove(at);
            let gone = Changed::between(&tree(&old), &tree(&new));
            let come = Changed::between(&tree(&new), &tree(&old));
            assert_eq!(gone, come, "{path}");
            let is_followed = !path.contains("README") && !path.starts_with("tests/");
            assert_eq!(gone.is_any(), is_followed, "{path}");
        }
    }
}
