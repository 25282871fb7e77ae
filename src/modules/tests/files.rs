//! Files and declarations.

use super::*;

fn places(moved: &Moved) -> Vec<(&str, &str)> {
    let moves = moved.files.iter().filter(|file| file.from != file.to);
    moves
        .map(|file| (file.from.as_str(), file.to.as_str()))
        .collect()
}

fn declarations(moved: &Moved) -> Vec<(&str, &str, &str)> {
    let all = moved.declarations.iter();
    all.map(|it| (it.root.as_str(), it.parent.as_str(), it.text.as_str()))
        .collect()
}

#[test]
fn a_module_moves_with_its_folder() {
    let own = [("src/controller/cronjob_controller/data/a.json", "{}")];
    let moved = run(&by_group(), &own).expect("a move");
    assert_eq!(
        places(&moved),
        [
            ("api/src/v1.rs", "api/src/batch/v1.rs"),
            (
                "api/src/v1/cronjob_types.rs",
                "api/src/batch/v1/cronjob_types.rs"
            ),
            ("api/src/v2.rs", "api/src/batch/v2.rs"),
            (
                "src/controller/cronjob_controller.rs",
                "src/controller/batch/cronjob_controller.rs"
            ),
            (
                "src/controller/cronjob_controller/data/a.json",
                "src/controller/batch/cronjob_controller/data/a.json"
            ),
            (
                "src/controller/cronjob_controller/status.rs",
                "src/controller/batch/cronjob_controller/status.rs"
            ),
            ("src/webhook/v1.rs", "src/webhook/batch/v1.rs"),
            (
                "src/webhook/v1/cronjob_defaulter.rs",
                "src/webhook/batch/v1/cronjob_defaulter.rs"
            ),
            (
                "src/webhook/v1/pod_defaulter.rs",
                "src/webhook/core/v1/pod_defaulter.rs"
            ),
            ("src/webhook/v2.rs", "src/webhook/batch/v2.rs"),
            (
                "tests/it/cronjob_controller.rs",
                "tests/it/batch/cronjob_controller.rs"
            ),
        ]
    );
    assert_eq!(
        declarations(&moved),
        [
            (API, "batch", "pub mod v1;"),
            (API, "batch", "pub mod v2;"),
            (OPERATOR, "controller::batch", "pub mod cronjob_controller;"),
            (OPERATOR, "webhook::batch", "pub mod v1;"),
            (OPERATOR, "webhook::batch", "pub mod v2;"),
            (OPERATOR, "webhook::core::v1", "pub mod pod_defaulter;"),
            (TESTS, "batch", "mod cronjob_controller;"),
        ]
    );
}

#[test]
fn a_declaration_keeps_what_its_owner_wrote() {
    let text = "//! All.\n\n/// The first.\n#[cfg(feature = \"a\")]\n#[a([1])]\npub(crate) mod v1; // why\n\npub mod v2;\n// +kbr:scaffold:modules\n";
    let moved = run(&moves(&[(API, "v1", "batch::v1")]), &[(API, text)]).expect("a move");
    assert_eq!(
        declarations(&moved),
        [(
            API,
            "batch",
            "/// The first.\n#[cfg(feature = \"a\")]\n#[a([1])]\npub(crate) mod v1; // why"
        )]
    );
    assert_eq!(
        moved.files[0].text,
        "//! All.\n\n\npub mod v2;\n// +kbr:scaffold:modules\n"
    );
}

#[test]
fn a_module_that_keeps_its_parent_is_renamed_in_place() {
    let rename = moves(&[(API, "v1::cronjob_types", "v1::job_types")]);
    let moved = run(&rename, &[]).expect("a move");
    let texts: Vec<(&str, &str)> = moved
        .files
        .iter()
        .map(|it| (it.to.as_str(), it.text.as_str()))
        .collect();
    assert_eq!(
        texts,
        [
            ("api/src/v1.rs", "mod job_types;\n\npub use job_types::*;\n"),
            ("api/src/v1/job_types.rs", "pub struct CronJob;\n"),
        ]
    );
    assert_eq!(moved.declarations, []);
}

#[test]
fn mod_rs_moves_with_its_name() {
    let own: BTreeMap<&str, &str> = [
        (OPERATOR, "mod a;\n"),
        ("src/a/mod.rs", "mod b;\nuse super::c;\n"),
        ("src/a/b/mod.rs", "use super::super::c;\nuse super::A;\n"),
    ]
    .into();
    let moved = rewrite(&crates(), &moves(&[(OPERATOR, "a", "x::a")]), &own).expect("a move");
    assert_eq!(
        places(&moved),
        [
            ("src/a/b/mod.rs", "src/x/a/b/mod.rs"),
            ("src/a/mod.rs", "src/x/a/mod.rs")
        ]
    );
    assert_eq!(moved.files[0].text, "use crate::c;\nuse super::A;\n");
    assert_eq!(moved.files[1].text, "mod b;\nuse crate::c;\n");
}

#[test]
fn paths_of_included_files_are_adjusted() {
    assert_rewritten(
        &by_group(),
        "src/controller/cronjob_controller.rs",
        &[
            (
                "const A: &str = include_str!(\"../../config/a.yaml\");",
                "const A: &str = include_str!(\"../../../config/a.yaml\");",
            ),
            (
                "const A: &[u8] = include_bytes!(\"cronjob_controller/status.rs\");",
                "const A: &[u8] = include_bytes!(\"cronjob_controller/status.rs\");",
            ),
            (
                "include! { \"../../../outside.rs\" }",
                "include! { \"../../../../outside.rs\" }",
            ),
            (
                "const A: &str = include_str!(\"/etc/a\");",
                "const A: &str = include_str!(\"/etc/a\");",
            ),
            ("#[path = \"a.rs\"] mod a;", "#[path = \"../a.rs\"] mod a;"),
        ],
    );
    assert_rewritten(
        &by_group(),
        "tests/it/support.rs",
        &[(
            "const A: &str = include_str!(\"../../api/src/v1/cronjob_types.rs\");",
            "const A: &str = include_str!(\"../../api/src/batch/v1/cronjob_types.rs\");",
        )],
    );
}

#[test]
fn a_path_that_is_taken_is_refused() {
    for taken in ["api/src/batch/v1.rs", "api/src/batch/v1/mod.rs"] {
        let error = run(&by_group(), &[(taken, "")]).expect_err(taken);
        assert_eq!(
            error.to_string(),
            format!(
                "the modules cannot be moved: `api/src/v1.rs` cannot become `api/src/batch/v1.rs`, because `{taken}` exists"
            )
        );
    }
    let swap = moves(&[(API, "v1", "v2"), (API, "v2", "v1")]);
    let moved = run(&swap, &[]).expect("two that change places");
    assert_eq!(
        places(&moved),
        [
            ("api/src/v1.rs", "api/src/v2.rs"),
            ("api/src/v1/cronjob_types.rs", "api/src/v2/cronjob_types.rs"),
            ("api/src/v2.rs", "api/src/v1.rs")
        ]
    );
}

#[test]
fn a_module_without_a_file_is_refused() {
    let v3 = moves(&[(API, "v3", "batch::v3")]);
    let declared = [("api/src/lib.rs", "pub mod v3;\n")];
    let error = run(&v3, &declared).expect_err("no v3");
    assert_eq!(
        error.to_string(),
        "the modules cannot be moved: the module `v3` of `api/src/lib.rs` has no file"
    );
    let moved = run(&v3, &[("api/src/lib.rs", "pub mod v1;\n")]).expect("nothing to move");
    assert_eq!(moved, Moved::default());
}

#[test]
fn a_private_module_stays_visible_to_those_that_use_it() {
    let group = moves(&[(TESTS, "support", "batch::support")]);
    let own = [
        (TESTS, "mod support;\nmod batch;\nmod cronjob_controller;\n"),
        ("tests/it/batch.rs", ""),
        (
            "tests/it/cronjob_controller.rs",
            "use crate::support::cronjob;\n",
        ),
        ("tests/it/support.rs", "pub(super) fn f() {}\n"),
    ];
    let moved = run(&group, &own).expect("a move");
    assert_eq!(
        declarations(&moved),
        [(TESTS, "batch", "pub(super) mod support;")]
    );
    let support = moved.files.iter().find(|it| it.from == own[3].0);
    assert_eq!(
        support.map(|it| it.text.as_str()),
        Some("pub(crate) fn f() {}\n")
    );

    let back = moves(&[(TESTS, "batch::support", "support")]);
    let own = [
        (TESTS, "mod batch;\nmod cronjob_controller;\n"),
        ("tests/it/batch.rs", "pub(super) mod support;\n"),
        ("tests/it/batch/support.rs", ""),
    ];
    let mut files = with(&own);
    files.remove("tests/it/support.rs");
    let moved = rewrite(&crates(), &back, &files).expect("a move");
    assert_eq!(declarations(&moved), [(TESTS, "", "mod support;")]);
}
