//! What kubectl prints for kustomizations: whatever it is, a chart and a bundle end with a result, or with an error that
//! says what to do.

use std::path::Path;
use std::sync::LazyLock;

use super::plans::{Files, tree};
use super::{Words, fuzz};
use crate::bundle::{self, Release};
use crate::chart;
use crate::error::help_of;
use crate::kustomize::Build;
use crate::kustomize::tests::printed;
use crate::layout;
use crate::project::{PROJECT_FILE, Project};
use crate::tree::Tree;

/// A golden project, and its files.
pub(crate) fn golden(name: &str) -> (Project, Files) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    let loaded = Tree::load(&folder.join(name)).expect("a golden project");
    let files: Files = loaded
        .files()
        .map(|(path, text)| (path.to_owned(), text.to_owned()))
        .collect();
    let project = Project::parse(&files[PROJECT_FILE]).expect("PROJECT");
    (project, files)
}

static GOLDENS: LazyLock<Vec<(Project, Files)>> = LazyLock::new(|| {
    let names = ["cronjob", "manager", "namespaced"];
    let with_config = |name| {
        let (project, mut files) = golden(name);
        files.retain(|path, _| path.starts_with(layout::CONFIG) || !path.contains('/'));
        (project, files)
    };
    names.map(with_config).into()
});

static WORDS: Words = Words::new(|| {
    "resources:\n·components:\n·patches: []\n·namespace: x\n·- \n·- .\n·---\n·...\n·&a ·*a·<<: *a·bad: [\n·{·[·\t·\r\n·\
     kind: Deployment\n·kind: List\n·name: manager\n·metadata: a\n·metadata:\n·spec: 1\n·null·~·{path: x.yaml}\n·\
     images: [{name: controller, newTag: v1}]\n·control-plane: controller-manager\n·op: remove\n·path: /metadata\n·\
     value: x\n·fieldPaths: [metadata]\n·spec.template.*·delimiter: \"\"\n·index: 99999999999\n"
        .split('·')
        .collect()
});

#[test]
fn what_kubectl_prints_ends_in_a_result_or_in_an_error_with_help() {
    fuzz("kustomizations", 100, 4, |random| {
        let (project, files) = &GOLDENS[random.below(GOLDENS.len())];
        let tree = tree(files);
        let mut text = printed(project, &tree);
        for _ in 0..=random.below(5) {
            text = random.mutate(&text, &WORDS);
        }
        random.input(&text);
        let read = || Build::read(project, &text);
        let build = match read() {
            Ok(build) => build,
            Err(error) => {
                assert!(help_of(&error).is_some(), "{error}");
                return false;
            }
        };
        if let Err(error) = chart::files(project, &tree, build) {
            assert!(help_of(&error).is_some(), "{error}");
        }
        let again = read().expect("the same text");
        if let Err(error) = bundle::files(project, &tree, again, &Release::default()) {
            assert!(help_of(&error).is_some(), "{error}");
        }
        true
    });
}
