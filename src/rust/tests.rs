//! Tests of the reader: brackets without partners, and what is code for tests.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::names::version_module;

/// The names of modules that code imports or declares, and those that its paths begin with.
pub(crate) fn modules_in_scope(text: &str) -> BTreeSet<String> {
    let code = Code::read(text);
    let mut names = BTreeSet::new();
    for at in 0..code.len() {
        if code.word(at) == "mod" {
            names.insert(code.word(at + 1).to_owned());
        } else if code.is_separator(at + 1) && !(at >= 2 && code.is_separator(at - 2)) {
            names.insert(code.word(at).to_owned());
        } else if code.word(at) == "use" {
            let leaves = code.import(at).map(|it| it.tree.leaves());
            names.extend(leaves.into_iter().flatten().filter_map(|mut leaf| {
                leaf.path.retain(|name| name != "self");
                leaf.alias.or_else(|| leaf.path.pop())
            }));
        }
    }
    names.retain(|name| name.starts_with(|first: char| first.is_ascii_lowercase()));
    names
}

/// Asserts that no version of an API has one of these modules.
#[track_caller]
pub(crate) fn assert_free_of_versions(modules: &BTreeSet<String>) {
    let versions = modules.iter().map(|module| module.replace('_', "-"));
    let taken = versions.filter(|version| modules.contains(&version_module(version)));
    assert_eq!(taken.collect::<Vec<_>>(), [""; 0]);
}

/// Whether `MARK` is in code for tests.
fn is_test_code(text: &str) -> bool {
    let mark = text.find("MARK").expect("a mark");
    let parts = Code::read(text).test_code();
    parts.iter().any(|part| part.contains(&mark))
}

#[test]
fn all_of_an_item_under_cfg_test_is_test_code() {
    for item in [
        "fn f(a: u8, b: u8) { /*MARK*/ }",
        "fn f(a: u8, /*MARK*/ b: u8) {}",
        "pub(crate) async fn f<A: B<C, D>, E>(a: A) -> Result<A, E> { /*MARK*/ }",
        "fn f<A, B>() -> HashMap<A, B> where A: X<B, u8>, B: Y { /*MARK*/ }",
        "fn f() -> [u8; 3] { /*MARK*/ }",
        "impl<A, B> X<A, { 3 }> for Y<A, B> { fn f(a: u8, b: u8) { /*MARK*/ } }",
        "impl X<{ 3 }> { /*MARK*/ }",
        "struct A<B, C> { b: B, /*MARK*/ c: C }",
        "struct A(u8, /*MARK*/ u8);",
        "enum A { B, C { d: u8 }, /*MARK*/ D }",
        "mod a { fn f(a: u8, b: u8) {} /*MARK*/ }",
        "const A: (u8, u8) = (1, /*MARK*/ 2);",
        "const A: B = B { a: 1, b: 2 /*MARK*/ };",
        "const fn f(a: u8, b: u8) { /*MARK*/ }",
        "static A: B<C, D> = B { c, d: { /*MARK*/ 1 } };",
        "use a::{b, /*MARK*/ c};",
        "macro_rules! m { (a, b) => { /*MARK*/ } }",
        "#[allow(dead_code, unused)] pub fn f(a: u8, b: u8) { /*MARK*/ }",
        "/*MARK*/ #[allow(dead_code)] fn f() {}",
    ] {
        assert!(
            is_test_code(&format!("#[cfg(test)]\n{item}\nfn g() {{}}")),
            "{item}"
        );
        let other = format!("#[cfg(not(test))]\n{item}");
        assert!(!is_test_code(&other), "{other}");
        let after = format!(
            "#[cfg(test)]\n{}\n/*MARK*/ fn g() {{}}",
            item.replace("/*MARK*/", "")
        );
        assert!(!is_test_code(&after), "{after}");
    }
}

#[test]
fn a_part_of_an_item_may_be_test_code() {
    for (text, expected) in [
        ("struct A { #[cfg(test)] a: B<C, D /*MARK*/>, b: u8 }", true),
        (
            "struct A { #[cfg(test)] a: B<C, D>, /*MARK*/ b: u8 }",
            false,
        ),
        (
            "struct A { #[cfg(test)] a: fn(C) -> B<C, D>, /*MARK*/ b: u8 }",
            false,
        ),
        ("struct A { #[cfg(test)] a: u8 } /*MARK*/", false),
        (
            "enum A { #[cfg(test)] B { c: u8, /*MARK*/ d: u8 }, E }",
            true,
        ),
        (
            "enum A { #[cfg(test)] B { c: u8, d: u8 }, /*MARK*/ E }",
            false,
        ),
        (
            "fn f() { match a { #[cfg(test)] A(b, c) => { d(b, c); /*MARK*/ } _ => {} } }",
            true,
        ),
        (
            "fn f() { match a { #[cfg(test)] A(b, c) if b < c => { d } _ => { /*MARK*/ } } }",
            false,
        ),
        (
            "fn f() { match a { #[cfg(test)] A { b, c } => d(b, /*MARK*/ c), _ => {} } }",
            true,
        ),
        (
            "fn f() { match a { #[cfg(test)] A { b, c } => d(b, c), _ => { /*MARK*/ } } }",
            false,
        ),
        (
            "fn f() { #[cfg(test)] let (a, b) = (c, || { /*MARK*/ }); }",
            true,
        ),
        (
            "fn f() { #[cfg(test)] let A { a, b } = c else { d }; /*MARK*/ }",
            false,
        ),
        (
            "fn f() { #[cfg(test)] if a { b } else { /*MARK*/ } c }",
            true,
        ),
        (
            "fn f() { #[cfg(test)] if a { b } else { c } /*MARK*/ }",
            false,
        ),
        ("fn f() { #[cfg(test)] g(a, |b, c| { /*MARK*/ }); }", true),
        ("fn f() { #[cfg(test)] g(a, b); /*MARK*/ }", false),
        ("fn f() { #[cfg(test)] { a, b /*MARK*/ } }", true),
        ("fn f() { #[cfg(test)] m! { a, b } /*MARK*/ }", false),
        ("fn f(#[cfg(test)] a: B<C, D>, b: u8) { /*MARK*/ }", false),
    ] {
        assert_eq!(is_test_code(text), expected, "{text}");
    }
}

#[test]
fn conditions_that_hold_only_in_tests_are_told_from_others() {
    for (attribute, expected) in [
        ("#[cfg(test)]", true),
        ("# [ cfg ( test , ) ]", true),
        ("#[cfg(all(unix, test))]", true),
        ("#[cfg(all(unix, any(test)))]", true),
        ("#[cfg(any(test, all(test, unix)))]", true),
        ("#[test]", true),
        ("#[tokio::test(flavor = \"multi_thread\")]", true),
        ("#[cfg(any(test, feature = \"a\"))]", false),
        ("#[cfg(not(test))]", false),
        ("#[cfg(any())]", false),
        ("#[cfg(feature = \"test\")]", false),
        ("#[cfg_attr(test, derive(A))]", false),
        ("#[allow(test)]", false),
        ("#[doc = \"test\"]", false),
        ("#", false),
    ] {
        let text = format!("{attribute} fn f(a: u8, b: u8) {{ /*MARK*/ }}");
        assert_eq!(is_test_code(&text), expected, "{text}");
    }
    assert!(is_test_code("#![cfg(test)]\nfn f() {} /*MARK*/"));
    assert!(is_test_code("mod a { #![cfg(test)] fn f() {} /*MARK*/ }"));
    assert!(!is_test_code("mod a { #![cfg(test)] } /*MARK*/"));
}

#[test]
fn brackets_without_partners_end_with_what_contains_them() {
    let code = Code::read("a ) { ( [ } ] (");
    let closing: Vec<usize> = (0..code.len()).map(|at| code.closing(at)).collect();
    assert_eq!(closing, [0, 1, 5, 5, 5, 2, 6, 8]);
}

proptest! {
    #![proptest_config(crate::fuzz::random::properties())]

    #[test]
    fn no_text_makes_it_panic(text in "[a#!()\\[\\]{}<>=,;:\"'/ *]{0,40}|.{0,40}", test in "[a,;(){}<>=]{0,20}") {
        for text in [text, format!("#[cfg(test)] {test}")] {
            let code = Code::read(&text);
            code.test_code();
            for at in 0..code.len() {
                prop_assert!(code.end(at) <= code.len() && code.after(at) > at);
                prop_assert!(code.begin(at) <= code.start(at));
                code.import(at);
                code.has_doc(at);
            }
            for line in code.comment_lines() {
                if let Some(Ok(arguments)) = line.marker().map(|it| it.arguments()) {
                    for word in arguments.iter().flat_map(|it| &it.words) {
                        prop_assert_eq!(&code.text[word.range.clone()], &word.text);
                    }
                }
            }
        }
    }
}
