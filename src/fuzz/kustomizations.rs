//! Trees of kustomizations: whatever is in them, a chart and a bundle end with a result, or with one error that names a
//! file.

use std::path::Path;
use std::sync::LazyLock;

use super::plans::{Files, tree};
use super::random::Random;
use super::{Words, fuzz};
use crate::bundle::{self, Release};
use crate::chart;
use crate::error::help_of;
use crate::kustomize::Build;
use crate::layout;
use crate::project::{PROJECT_FILE, Project};
use crate::tree::Tree;

/// A golden project, and its files.
pub fn golden(name: &str) -> (Project, Files) {
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

/// What a kustomization may list.
static ITEMS: Words = Words::new(|| {
    "·.·./·..·../default·../a·../b·../c·../a/b·../rbac·../samples·../prometheus·../crd·../manager/manager.yaml·x.yaml·\
     ../none·../../..·../../../../x·/tmp·https://example.com/a·{a: b}·3·[]·\u{e000}·metrics_service.yaml"
        .split('·')
        .collect()
});

static WORDS: Words = Words::new(|| {
    "resources:\n·components:\n·patches: []\n·namespace: x\n·- \n·- .\n·---\n·...\n·&a ·*a·<<: *a·bad: [\n·{·[·\t·\r\n·\
     kind: Deployment\n·kind: List\n·name: manager\n·metadata: a\n·metadata:\n·spec: 1\n·null·~·{path: x.yaml}\n·\
     images: [{name: controller, newTag: v1}]\n·control-plane: controller-manager\n·op: remove\n·path: /metadata\n·\
     value: x\n·fieldPaths: [metadata]\n·spec.template.*·delimiter: \"\"\n·index: 99999999999\n"
        .split('·')
        .collect()
});

/// Changes a file, adds one, or takes one away.
fn edit(random: &mut Random, files: &mut Files) {
    let at = random.below(files.len());
    let Some((path, text)) = files.iter_mut().nth(at) else {
        return;
    };
    match random.below(8) {
        0 | 1 => *text = random.mutate(text, &WORDS),
        2 => {
            let path = path.clone();
            files.remove(&path);
        }
        3 => *text = text.replace('\n', "\r\n"),
        _ => {
            let kustomizations = files
                .keys()
                .filter(|path| path.ends_with("/kustomization.yaml"));
            let known: Vec<&String> = kustomizations.collect();
            let folder = random.pick(&["a", "b", "c", "a/b"]).to_owned();
            let path = match random.one_in(2) {
                true => format!("config/{folder}/kustomization.yaml"),
                false => known
                    .get(random.below(known.len()))
                    .map_or_else(String::new, |path| (*path).clone()),
            };
            let key = random.pick(&["resources", "resources", "components", "configurations"]);
            let item = format!("- {}\n", random.pick(&ITEMS));
            let text = files.entry(path).or_default();
            let line = format!("{key}:\n");
            match text.contains(&line) {
                true => *text = text.replacen(&line, &format!("{line}{item}"), 1),
                false => text.push_str(&format!("{line}{item}")),
            }
        }
    }
}

#[test]
fn kustomizations_end_with_a_result_or_with_an_error_that_names_a_file() {
    fuzz("kustomizations", 100, 4, |random| {
        let (project, mut files) = GOLDENS[random.below(GOLDENS.len())].clone();
        let before = files.clone();
        for _ in 0..=random.below(5) {
            edit(random, &mut files);
        }
        let changed: Files = files
            .iter()
            .filter(|(path, text)| before.get(*path) != Some(*text))
            .map(|(path, text)| (path.clone(), text.clone()))
            .collect();
        random.input(&changed);
        let documents = files.values().map(|text| text.matches("---").count() + 1);
        // Each generated ConfigMap is one entry of a kustomization.
        let generated = files.values().map(|text| text.matches("- ").count());
        let most: usize = documents.sum::<usize>() + generated.sum::<usize>();
        let tree = tree(&files);
        let chart = chart::files(&project, &tree);
        let bundle = bundle::files(&project, &tree, &Release::default());
        match Build::of(&project, &tree) {
            Ok(build) => {
                assert!(
                    build.objects.len() <= most,
                    "{} objects",
                    build.objects.len()
                );
                true
            }
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains("`config/"), "{text}");
                assert!(help_of(&error).is_some(), "{text}");
                assert!(chart.is_err() && bundle.is_err(), "{text}");
                false
            }
        }
    });
}
