//! Paths in code.

use super::*;

#[test]
fn a_path_gains_the_segment() {
    assert_rewritten(
        &by_group(),
        "src/schedule.rs",
        &[
            (
                "type A = api::v1::CronJob;",
                "type A = api::batch::v1::CronJob;",
            ),
            (
                "type A = ::api::v1::CronJob;",
                "type A = ::api::batch::v1::CronJob;",
            ),
            (
                "fn f() -> ::api::v1::A {}",
                "fn f() -> ::api::batch::v1::A {}",
            ),
            (
                "const A: A = crate::controller::cronjob_controller::A;",
                "const A: A = crate::controller::batch::cronjob_controller::A;",
            ),
            (
                "fn f() { crate::webhook::v1::pod_defaulter::register() }",
                "fn f() { crate::webhook::core::v1::pod_defaulter::register() }",
            ),
            (
                "type A = Vec<api :: v1 :: A>;",
                "type A = Vec<api :: batch::v1 :: A>;",
            ),
            (
                "type A = <B as api::v1::C>::v1;",
                "type A = <B as api::batch::v1::C>::v1;",
            ),
            (
                "type A = Vec::<api::v1::B>::v1;",
                "type A = Vec::<api::batch::v1::B>::v1;",
            ),
            (
                "const A: B = 0..api::v1::C;",
                "const A: B = 0..api::batch::v1::C;",
            ),
            (
                "pub(in crate::webhook::v1) mod a {}",
                "pub(in crate::webhook::batch::v1) mod a {}",
            ),
            (
                "#[a(api::v1::B)] struct A;",
                "#[a(api::batch::v1::B)] struct A;",
            ),
        ],
    );
}

#[test]
fn the_arguments_of_macros_are_code() {
    assert_rewritten(
        &by_group(),
        "src/schedule.rs",
        &[
            (
                "fn f() { assert!(x(json!({ \"a\": [api::v1::A], \"b\": 'b' }))) }",
                "fn f() { assert!(x(json!({ \"a\": [api::batch::v1::A], \"b\": 'b' }))) }",
            ),
            (
                "macro_rules! m { ($a:expr) => { $crate::webhook::v1::f($a) } }",
                "macro_rules! m { ($a:expr) => { $crate::webhook::batch::v1::f($a) } }",
            ),
        ],
    );
}

#[test]
fn text_that_is_no_path_to_a_moved_module_stays() {
    for text in [
        "// api::v1::A\n/* api::v1 */ const A: &str = \"api::v1::A\";",
        "type A = k8s_openapi::api::v1::Job;",
        "fn f() { self.api::<v1::A>(); a.api::v1::b; $api::v1::b }",
        "type A = api::v10::CronJob;",
        "type A = api::batch::v1::A;",
        "type A = Vec::<T>::api::v1::A;",
        "use kube::api; type A = api::v1::A;",
        "fn f() { use kube::api; { api::v1::a() } }",
        "mod api { pub mod v1 {} } type A = api::v1::A;",
        "use kube::api; mod a { use super::*; type A = api::v1::A; }",
        "type A = crate::schedule::v1::A; use super::v1;",
        "use api::{$a, v1};",
    ] {
        assert_eq!(after(&by_group(), "src/schedule.rs", text), text);
    }
}

#[test]
fn a_name_in_a_block_is_not_visible_outside() {
    let before = "fn f() { use kube::api; } fn g() { api::v1::g() }";
    let expected = "fn f() { use kube::api; } fn g() { api::batch::v1::g() }";
    assert_rewritten(&by_group(), "src/schedule.rs", &[(before, expected)]);
}

#[test]
fn a_function_hides_no_crate_of_its_name() {
    assert_rewritten(
        &by_group(),
        "tests/it/cronjob_controller.rs",
        &[(
            "use crate::support::cronjob;\nfn f() { cronjob::webhook::v1::f(cronjob()) }",
            "use crate::support::cronjob;\nfn f() { cronjob::webhook::batch::v1::f(cronjob()) }",
        )],
    );
}

#[test]
fn a_private_import_is_hidden_from_a_glob_elsewhere() {
    let own = [
        ("src/schedule.rs", "use kube::api;\npub struct A;\n"),
        (
            "src/controller/helper.rs",
            "use crate::schedule::*;\ntype B = api::v1::B;\n",
        ),
    ];
    let moved = run(&by_group(), &own).expect("a move");
    let file = moved.files.iter().find(|it| it.from == own[1].0);
    assert_eq!(
        file.map(|it| it.text.as_str()),
        Some("use crate::schedule::*;\ntype B = api::batch::v1::B;\n")
    );
}

#[test]
fn super_stays_where_it_still_fits() {
    assert_rewritten(
        &by_group(),
        "src/webhook/v1/cronjob_defaulter.rs",
        &[
            ("use super::super::v2::A;", "use super::super::v2::A;"),
            ("use super::A;", "use super::A;"),
            ("use self::a::A;", "use self::a::A;"),
            (
                "mod a { use super::super::super::v2::A; }",
                "mod a { use super::super::super::v2::A; }",
            ),
            ("use super::super::A;", "use crate::webhook::A;"),
            ("use super::super::super::schedule;", "use crate::schedule;"),
            (
                "use super::pod_defaulter::A;",
                "use crate::webhook::core::v1::pod_defaulter::A;",
            ),
            (
                "use super::super::{A, v2::B};",
                "use crate::webhook::{A, batch::v2::B};",
            ),
            ("use super::super::*;", "use crate::webhook::*;"),
        ],
    );
    assert_rewritten(
        &by_group(),
        "src/controller/helper.rs",
        &[
            (
                "use super::cronjob_controller::A;",
                "use super::batch::cronjob_controller::A;",
            ),
            (
                "use super::{A, cronjob_controller};",
                "use super::{A, batch::cronjob_controller};",
            ),
        ],
    );
}

#[test]
fn visibility_for_the_old_parent_is_kept() {
    assert_rewritten(
        &by_group(),
        "src/controller/cronjob_controller.rs",
        &[
            (
                "pub(super) fn f() {}",
                "pub(in crate::controller) fn f() {}",
            ),
            ("pub(crate) fn f() {}", "pub(crate) fn f() {}"),
            (
                "mod a { pub(super) fn f() {} }",
                "mod a { pub(super) fn f() {} }",
            ),
        ],
    );
    let back = moves(&[(OPERATOR, "controller::helper", "helper")]);
    let text = "pub(super) fn f() {}";
    assert_eq!(after(&back, "src/controller/helper.rs", text), text);
}

#[test]
fn names_that_the_module_declares_follow() {
    assert_rewritten(
        &by_group(),
        API,
        &[
            (
                "pub mod v1;\npub mod v2;\npub use v1::CronJob;\ntype A = v2::CronJob;\n",
                "pub use batch::v1::CronJob;\ntype A = batch::v2::CronJob;\n",
            ),
            (
                "pub mod v1;\npub mod v2;\nmod a { use super::*; type A = v2::A; }\n",
                "mod a { use super::*; type A = crate::batch::v2::A; }\n",
            ),
        ],
    );
    let core = moves(&[(API, "v1", "core::v1")]);
    assert_rewritten(
        &core,
        API,
        &[(
            "pub mod v1;\npub use v1::A;\n",
            "pub use self::core::v1::A;\n",
        )],
    );
}

#[test]
fn a_re_export_of_the_module_stays() {
    let text = "mod cronjob_types;\npub use cronjob_types::*;\n";
    assert_eq!(after(&by_group(), "api/src/v1.rs", text), text);
}

#[test]
fn links_of_doc_comments_and_literals_of_attributes_are_paths() {
    assert_rewritten(
        &by_group(),
        "src/schedule.rs",
        &[
            (
                "//! See [`crate::webhook::v1`], [a](api::v1::A#b), [`x`](`api::v1::f()`).",
                "//! See [`crate::webhook::batch::v1`], [a](api::batch::v1::A#b), \
                 [`x`](`api::batch::v1::f()`).",
            ),
            (
                "#[serde(with = \"crate::webhook::v1::a\")] struct A;",
                "#[serde(with = \"crate::webhook::batch::v1::a\")] struct A;",
            ),
        ],
    );
    for text in [
        "//! `api::v1`, [api::v1 b], (api::v1)",
        "#[a = \"api::v1 b\"] struct A;",
    ] {
        assert_eq!(after(&by_group(), "src/schedule.rs", text), text);
    }
}

#[test]
fn a_crate_does_not_refer_to_itself_by_its_name() {
    let text = "mod api { pub mod v1 {} }\ntype A = cronjob::webhook::v1::A;\n";
    assert_eq!(after(&by_group(), "src/schedule.rs", text), text);
    assert_rewritten(
        &by_group(),
        "examples/local.rs",
        &[(
            "use cronjob::webhook::v2::A; type B = cronjob_api::v1::C;",
            "use cronjob::webhook::batch::v2::A; type B = cronjob_api::batch::v1::C;",
        )],
    );
}

#[test]
fn a_renamed_module_has_its_new_name_in_paths_through_imports() {
    let rename = moves(&[(OPERATOR, "schedule", "calendar")]);
    assert_rewritten(
        &rename,
        "src/controller/cronjob_controller.rs",
        &[
            (
                "use crate::schedule::{self, A};\nfn f() { schedule::f(A) }",
                "use crate::calendar::{self, A};\nfn f() { calendar::f(A) }",
            ),
            (
                "use crate::schedule;\nmod a { use super::*; type A = schedule::A; }",
                "use crate::calendar;\nmod a { use super::*; type A = calendar::A; }",
            ),
            (
                "use crate::schedule as s;\ntype A = s::A;",
                "use crate::calendar as s;\ntype A = s::A;",
            ),
            (
                "use crate::schedule;\nstruct calendar;\ntype A = schedule::A;",
                "use crate::calendar as schedule;\nstruct calendar;\ntype A = schedule::A;",
            ),
        ],
    );
}

#[test]
fn a_path_through_an_import_of_the_old_parent_follows() {
    assert_rewritten(
        &by_group(),
        "src/schedule.rs",
        &[(
            "use crate::webhook;\ntype A = webhook::v1::A;",
            "use crate::webhook;\ntype A = webhook::batch::v1::A;",
        )],
    );
    let back = moves(&[(OPERATOR, "controller::helper", "helper")]);
    assert_rewritten(
        &back,
        "src/schedule.rs",
        &[(
            "use crate::controller;\ntype A = controller::helper::A;",
            "use crate::controller;\ntype A = crate::helper::A;",
        )],
    );
    assert_rewritten(
        &back,
        "src/controller/helper.rs",
        &[("use super::super::schedule;", "use crate::schedule;")],
    );
}
