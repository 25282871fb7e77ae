//! `use`, with its groups.

use super::*;

#[test]
fn a_group_whose_names_move_alike_keeps_its_braces() {
    assert_rewritten(
        &by_group(),
        "src/schedule.rs",
        &[
            ("use api::{v1, v2};", "use api::batch::{v1, v2};"),
            ("use ::api::{v1, v2};", "use ::api::batch::{v1, v2};"),
            (
                "use api::{v1, v2::{A, B}};",
                "use api::batch::{v1, v2::{A, B}};",
            ),
            (
                "use api::{v1::*, v2 as b};",
                "use api::batch::{v1::*, v2 as b};",
            ),
            ("use api::v1::{self, A};", "use api::batch::v1::{self, A};"),
            (
                "use api::{v1::{self, A}};",
                "use api::batch::{v1::{self, A}};",
            ),
            (
                "use api::{v1,\n    // why\n    v2,\n};",
                "use api::batch::{v1,\n    // why\n    v2,\n};",
            ),
        ],
    );
}

#[test]
fn a_group_whose_names_move_apart_changes_in_the_braces() {
    assert_rewritten(
        &by_group(),
        "src/schedule.rs",
        &[
            ("use api::{A, v1};", "use api::{A, batch::v1};"),
            ("use api::{self, v1};", "use api::{self, batch::v1};"),
            (
                "use crate::{controller::cronjob_controller, webhook};",
                "use crate::{controller::batch::cronjob_controller, webhook};",
            ),
            (
                "use crate::webhook::v1::{cronjob_defaulter, pod_defaulter::{A, B}};",
                "use crate::webhook::{batch::v1::cronjob_defaulter, core::v1::pod_defaulter::{A, B}};",
            ),
            (
                "use {api::{v1, v2}, crate::webhook::v1};",
                "use {api::batch::{v1, v2}, crate::webhook::batch::v1};",
            ),
        ],
    );
}

#[test]
fn every_form_of_an_import_follows() {
    assert_rewritten(
        &by_group(),
        "src/schedule.rs",
        &[
            ("use api::v1;", "use api::batch::v1;"),
            ("use api::v1::*;", "use api::batch::v1::*;"),
            ("pub use api::v1 as a;", "pub use api::batch::v1 as a;"),
            (
                "fn f() { use api::v1; v1::f() }",
                "fn f() { use api::batch::v1; v1::f() }",
            ),
            (
                "use api::v1; type A = v1::A;",
                "use api::batch::v1; type A = v1::A;",
            ),
            (
                "use api; type A = api::v1::A;",
                "use api; type A = api::batch::v1::A;",
            ),
            (
                "use api as a; use a::v1;",
                "use api as a; use a::batch::v1;",
            ),
            (
                "fn f() -> impl A + use<'a> + api::v1::B {}",
                "fn f() -> impl A + use<'a> + api::batch::v1::B {}",
            ),
        ],
    );
}

#[test]
fn a_group_loses_the_segment() {
    let files = [
        (API, "pub mod batch;\n"),
        (
            "api/src/batch.rs",
            "pub mod v1;\npub mod v2;\npub struct Other;\n",
        ),
        ("api/src/batch/v1.rs", ""),
        ("api/src/batch/v2.rs", ""),
    ];
    let back = moves(&[(API, "batch::v1", "v1"), (API, "batch::v2", "v2")]);
    for (before, expected) in [
        ("use api::batch::{v1, v2};", "use api::{v1, v2};"),
        (
            "use api::{batch::v1, batch::v2::A};",
            "use api::{v1, v2::A};",
        ),
        ("use api::{A, batch::{v1, v2}};", "use api::{A, v1, v2};"),
        (
            "use api::batch::{Other, v1};",
            "use api::{batch::Other, v1};",
        ),
        (
            "use api::batch::{v1::*, v2::{self, A}};",
            "use api::{v1::*, v2::{self, A}};",
        ),
        (
            "use api::batch;\ntype A = batch::v1::A;",
            "use api::batch;\ntype A = api::v1::A;",
        ),
    ] {
        let mut own: BTreeMap<&str, &str> = files.into();
        own.insert("src/lib.rs", before);
        let moved = rewrite(&crates(), &back, &own).expect("a move");
        let file = moved.files.iter().find(|file| file.from == "src/lib.rs");
        assert_eq!(file.map(|it| it.text.as_str()), Some(expected), "{before}");
    }
}

#[test]
fn an_import_next_to_its_module_imports_no_name() {
    let rename = moves(&[(OPERATOR, "controller::helper", "helper")]);
    let before = "mod controller;\npub use controller::helper;\ntype A = helper::A;\n";
    let expected = "mod controller;\npub use helper as _;\ntype A = helper::A;\n";
    assert_rewritten(&rename, OPERATOR, &[(before, expected)]);
}

/// The types of one kind leave the module of their version.
fn types_leave() -> Vec<Move> {
    let mut all = moves(&[(API, "v1::cronjob_types", "v3::cronjob_types")]);
    all[0].makes = vec!["CronJobList".to_owned()];
    all
}

#[test]
fn paths_to_what_a_module_exported_follow_it() {
    assert_rewritten(
        &types_leave(),
        "src/schedule.rs",
        &[
            ("use api::v1::CronJob;", "use api::v3::CronJob;"),
            (
                "use api::v1::CronJobList as A;",
                "use api::v3::CronJobList as A;",
            ),
            ("type A = api::v1::CronJob;", "type A = api::v3::CronJob;"),
            ("type A = api::v1::Other;", "type A = api::v1::Other;"),
            (
                "use api::v1::{CronJob, Other};",
                "use api::{v3::CronJob, v1::Other};",
            ),
            (
                "/// [A](api::v1::CronJob)\nstruct A;",
                "/// [A](api::v3::CronJob)\nstruct A;",
            ),
        ],
    );
    assert_rewritten(
        &types_leave(),
        "api/src/v1.rs",
        &[(
            "mod cronjob_types;\n\npub use cronjob_types::*;\n",
            "\npub use cronjob_types::*;\n",
        )],
    );
    assert_rewritten(
        &types_leave(),
        "api/src/v1/cronjob_types.rs",
        &[(
            "pub struct CronJob(super::Other);",
            "pub struct CronJob(crate::v1::Other);",
        )],
    );
}

#[test]
fn an_import_follows_if_everything_reached_through_it_does() {
    assert_rewritten(
        &types_leave(),
        "src/schedule.rs",
        &[
            (
                "use api::v1;\ntype A = v1::CronJob;\ntype B = v1::CronJobList;",
                "use api::v3;\ntype A = v3::CronJob;\ntype B = v3::CronJobList;",
            ),
            (
                "use api::v1;\nmod a {\n    use super::*;\n    type A = v1::CronJob;\n}",
                "use api::v3;\nmod a {\n    use super::*;\n    type A = v3::CronJob;\n}",
            ),
            (
                "use api::v1;\ntype A = v1::CronJob;\ntype B = v1::Other;",
                "use api::v1;\ntype A = api::v3::CronJob;\ntype B = v1::Other;",
            ),
            (
                "use api::{v1, v2};\ntype A = (v1::CronJob, v2::CronJob);",
                "use api::{v3, v2};\ntype A = (v3::CronJob, v2::CronJob);",
            ),
            (
                "use api::v1;\nuse b::v3;\ntype A = v1::CronJob;",
                "use api::v3 as v1;\nuse b::v3;\ntype A = v1::CronJob;",
            ),
            (
                "use api::v1;\npub use v1 as b;",
                "use api::v1;\npub use v1 as b;",
            ),
        ],
    );
}
