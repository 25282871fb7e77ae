//! What is refused, where, and in which words.

use super::finish;

const REFUSED: &str = include_str!("../../../../tests/data/crdgen/refused.json");

/// Path and reason of each refusal.
fn refused(name: &str) -> Vec<String> {
    let refusals = finish(REFUSED, name).expect_err("the shape is refused");
    refusals.iter().map(ToString::to_string).collect()
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases is long and plain")]
fn every_odd_shape_is_refused_at_its_field() {
    let cases: [(&str, &[&str]); 14] = [
        (
            "Tuple",
            &["`spec.pair` is a tuple", "`spec.list[]` is a tuple"],
        ),
        (
            "Scalar",
            &[
                "`spec.value` is an untagged",
                "`spec.inner.deep.*[]` is an untagged",
            ],
        ),
        (
            "AnyValue",
            &[
                "`spec.value` takes",
                "`spec.maybe` takes",
                "`spec.list[]` takes",
            ],
        ),
        (
            "Recursive",
            &["`spec.root.children[]` contains itself (`Tree`)"],
        ),
        (
            "FlatStrings",
            &["`spec` holds named fields and a flattened map"],
        ),
        (
            "Tagged",
            &[
                "`spec.shape` is an enum with the tag `kind`",
                "`spec.list[]` is an enum",
            ],
        ),
        ("Mixed", &["`spec.mixed` is an enum that mixes"]),
        (
            "Conflict",
            &["`spec.either` has variants that give the field `x`"],
        ),
        ("Keys", &["`spec.byNumber` is a map whose keys"]),
        ("Unit", &["`spec.unit` is always null"]),
        (
            "SchemaInSpec",
            &["`spec.schema.additionalItems` contains itself (`io.k8s."],
        ),
        (
            "Untagged",
            &[
                "`spec.a` is an unt",
                "`spec.b` is an unt",
                "`spec.c.Two` is a tuple",
            ],
        ),
        (
            "Panics",
            &[
                "`spec.strict` denies unknown fields",
                "`spec.worded` has variants",
            ],
        ),
        (
            "Many",
            &[
                "`spec.pair` ",
                "`spec.value` ",
                "`spec.shape` ",
                "`spec.scalar` ",
            ],
        ),
    ];
    for (name, beginnings) in cases {
        // Without `preserve_order` in the user's crate, crdgen prints fields sorted by name.
        let mut refusals = refused(&format!("v1::{name}"));
        let mut beginnings = beginnings.to_vec();
        refusals.sort_unstable();
        beginnings.sort_unstable();
        assert_eq!(refusals.len(), beginnings.len(), "{refusals:?}");
        for (refusal, beginning) in refusals.iter().zip(beginnings) {
            assert!(refusal.starts_with(beginning), "{refusal}");
        }
    }
}

#[test]
fn a_refusal_says_what_to_write() {
    let refusals = finish(REFUSED, "v1::Mixed").expect_err("it is refused");
    let [refusal] = refusals.as_slice() else {
        panic!("one refusal is expected, not {refusals:?}");
    };
    assert_eq!(
        refusal.to_string(),
        "`spec.mixed` is an enum that mixes variants with and without content"
    );
    assert_eq!(
        refusal.reason.help(),
        "give every variant a body: `Never {}` instead of `Never`"
    );
}
