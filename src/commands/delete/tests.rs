//! What deleting leaves, and what cannot be deleted; on values.

use crate::commands::tests::Bench;

/// Carries out `line`, and then what takes it back.
#[track_caller]
fn back(before: &Bench, create: &str, delete: &str) {
    let there = before.after(create);
    assert_ne!(there.files, before.files, "{create}");
    let back = there.after(delete);
    for (path, text) in &back.files {
        assert_eq!(before.files.get(path), Some(text), "{path} after {delete}");
    }
    assert_eq!(back.files, before.files, "{delete}");
}

#[test]
fn what_was_created_is_deleted_without_a_trace() {
    let empty = Bench::new();
    back(
        &empty,
        "create api --kind Foo --controller=false",
        "delete api --kind Foo",
    );
    back(&empty, "create api --kind Foo", "delete api --kind Foo");
}
