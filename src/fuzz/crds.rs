//! CRDs of other operators, however they are written.

use super::{Words, fuzz};
use crate::commands::external::tests::CRDS;
use crate::import::external::find;

/// Fragments of a CRD.
static WORDS: Words = Words::new(|| {
    "spec:·properties:·required:·type: array·minItems: 99999999999·items:·enum: []·\
     default: null·anyOf: [3]·---·{·[·? ·&a·*a·\t·!!binary·\u{0}"
        .split('·')
        .collect()
});

#[test]
fn crds_of_others_are_understood_or_not() {
    fuzz("crds", 600, 1, |random| {
        let text = if random.one_in(6) {
            CRDS.to_owned()
        } else {
            random.mutate(CRDS, &WORDS)
        };
        random.input(&text);
        let found = find("crds.yaml", &text, "cert-manager.io", "v1", "ClusterIssuer");
        if let Ok(found) = &found {
            assert!(found.sample.object.is_object(), "{text}");
        }
        found.is_ok()
    });
}
