//! Each way, compared with a project that had that maker from the start.

use crate::commands::tests::Bench;

const COMMANDS: [&str; 4] = [
    "create api --kind Foo",
    "create webhook --kind Foo --defaulting --programmatic-validation",
    "create api --kind Foo --version v1beta1",
    "create webhook --kind Foo --conversion --spoke v1beta1",
];

fn project(options: &str) -> Bench {
    let empty = Bench::of(options);
    COMMANDS.iter().fold(empty, |bench, line| bench.after(line))
}

#[test]
fn both_ways_give_what_the_other_had_from_the_start() {
    for options in ["", "--namespaced", "--multigroup"] {
        let own = project(&format!("{options} --certificates self-managed"));
        let theirs = project(&format!("{options} --certificates cert-manager"));
        assert_ne!(own.files, theirs.files);

        let to_own = theirs.after("edit --certificates self-managed");
        let to_theirs = own.after("edit --certificates cert-manager");

        assert_eq!(to_own.files, own.files, "{options}");
        assert_eq!(to_theirs.files, theirs.files, "{options}");
        assert_eq!(
            own.after("edit --certificates self-managed").files,
            own.files
        );
    }
}

#[test]
fn nothing_is_left_when_the_last_webhook_is_deleted() {
    let own = Bench::of("--certificates self-managed").after("create api --kind Foo");
    let deleted = own
        .after("create webhook --kind Foo --defaulting")
        .after("delete webhook --kind Foo --defaulting");
    assert_eq!(deleted.files, own.files);
}

#[test]
fn what_the_owner_wrote_stays() {
    let mut bench = project("--certificates cert-manager");
    let patch = "config/default/manager_webhook_patch.yaml";
    let note = "# Ours.\n";
    let text = bench.text(patch).to_owned() + note;
    bench.files.insert(patch.to_owned(), text);

    let after = bench.after("edit --certificates self-managed");

    let rendered = project("--certificates self-managed")
        .text(patch)
        .to_owned();
    assert_eq!(after.text(patch), rendered + note);
}
