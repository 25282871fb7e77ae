//! How `kbr manifests` reports CRDs that are too large, and how it makes them smaller.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Project;

/// Words on the kind. More of them.
#[derive(Clone, CustomResource, Debug, Deserialize, JsonSchema, Serialize)]
#[kube(
    group = "crds.example.com",
    version = "v1",
    kind = "Book",
    doc = "Words on the kind. More of them.",
    namespaced
)]
struct BookSpec {
    /// How many pages it has. The cover is none.
    pages: i32,
}

const WORDS: [&str; 2] = [
    "description: Words on the kind. More of them.\n",
    "description: How many pages it has. The cover is none.\n",
];

const REFUSAL: &str = "error: invalid value 'much' for '--max-desc-len <N>': invalid digit found in \
                       string\n\nFor more information, try '--help'.\n";

#[test]
fn descriptions_are_cut_to_the_requested_length() {
    let project = Project::of::<Book>();
    let crd = project.crd();
    for words in WORDS {
        assert!(crd.contains(words), "{crd}");
    }
    project.manifests(&["--check"]).success();
    project.manifests(&["--max-desc-len", "25"]).success();
    let cut = project.sandbox.read(&project.file);
    let lines = [
        "description: Words on the kind.\n",
        "description: How many pages it has.\n",
    ];
    for line in lines {
        assert!(cut.contains(line), "{cut}");
    }
    project
        .manifests(&["--check", "--max-desc-len", "25"])
        .success();
    project.manifests(&["--check"]).failure();
    project.manifests(&["--max-desc-len=0"]).success();
    assert!(!project.sandbox.read(&project.file).contains("description"));
    project
        .manifests(&["--max-desc-len", "much"])
        .refused(2, REFUSAL);
}

/// The output of `crdgen` with a doc comment of that many bytes on the only field.
fn with_words(project: &Project, bytes: usize) -> Value {
    let mut entries: Value =
        serde_json::from_str(&project.sandbox.read("answer/crdgen.json")).expect("JSON");
    for contract in ["serialize", "deserialize"] {
        let pages = &mut entries[0][contract]["$defs"]["BookSpec"]["properties"]["pages"];
        pages["description"] = "word ".repeat(bytes / 5).into();
    }
    entries
}

#[test]
fn a_crd_too_large_for_kubectl_apply_is_reported() {
    let project = Project::of::<Book>();
    let entries = with_words(&project, 262_144);
    project
        .sandbox
        .write("answer/crdgen.json", &entries.to_string());
    let run = project.manifests(&[]).success();
    let warning = "Warning `books.crds.example.com` has 2";
    assert!(run.stderr.contains(warning), "{run:?}");
    assert!(!run.stderr.contains("Helm"), "{run:?}");
    let run = project.manifests(&["--max-desc-len", "100000"]).success();
    assert!(!run.stderr.contains("Warning"), "{run:?}");
}
