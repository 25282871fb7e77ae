//! Files that are broken, or as another system writes them.

use super::Bench;
use super::laws::add_crds;
use crate::layout;

fn project() -> Bench {
    Bench::small("")
        .after("create api --group crew --version v1 --kind Captain")
        .after("create webhook --group crew --version v1 --kind Captain --programmatic-validation")
}

/// One command of each kind.
const COMMANDS: [&str; 6] = [
    "create api --group crew --version v1 --kind Boat",
    "delete webhook --group crew --version v1 --kind Captain --programmatic-validation",
    "edit --multigroup",
    "rename kind --group crew --kind Captain --to Warden",
    "update",
    "manifests",
];

#[test]
fn a_broken_file_is_refused_by_every_command() {
    for path in [
        "config/default/kustomization.yaml",
        "config/crd/kustomization.yaml",
        "config/crd/bases/crew.example.com_captains.yaml",
        "tests/stored/crew_v1_captain.yaml",
        "tests/external/cert-manager.io_issuers.yaml",
    ] {
        let mut bench = project();
        let broken = "a: 1\nb: [\n".to_owned();
        bench.files.insert(path.to_owned(), broken);
        for line in COMMANDS {
            let error = bench.plan(line).expect_err(path).to_string();
            assert!(error.contains(&format!("`{path}:")), "{line}: {error}");
        }
    }
}

#[test]
fn line_ends_of_windows_change_nothing() {
    let mut bench = Bench::of("")
        .after("create api --group crew --version v1 --kind Captain")
        .after("manifests");
    bench.commit();
    for text in bench.files.values_mut() {
        *text = text.replace('\n', "\r\n");
    }
    for line in ["update", "manifests"] {
        let plan = bench.plan(line).expect("no refusal");
        let changed: Vec<&str> = plan.changing().map(|step| &*step.path).collect();
        assert_eq!(changed, [""; 0], "{line}");
        assert_eq!(bench.desired(line).expect("no refusal").warnings, [""; 0]);
    }
    assert!(bench.text(layout::CRDGEN).contains('\r'));
}

#[test]
fn what_its_owner_did_to_a_file_follows_when_the_file_gets_another_name() {
    for (line, start) in [("chart", layout::CHART), ("bundle", "bundle/")] {
        let mut bench = Bench::small("")
            .after("create api --group crew --version v1 --kind Captain")
            .after("create api --group crew --version v1 --kind Boat");
        add_crds(&mut bench);
        let mut bench = bench.after(line);
        bench.commit();
        for change in [
            "rename kind --group crew --kind Captain --to Warden",
            "edit --project-name other",
        ] {
            let after = |bench: &Bench| {
                let mut bench = bench.clone();
                bench.commit();
                let mut renamed = bench.after(change);
                add_crds(&mut renamed);
                renamed.commit();
                let packaged = renamed.after(line);
                let again = packaged.plan(line).expect("no refusal");
                assert_eq!(again.changing().count(), 0, "{line} after {change}");
                packaged
            };
            let pure = after(&bench);
            let is_gone = |path: &&String| {
                path.starts_with(start)
                    && path.ends_with(".yaml")
                    && !pure.files.contains_key(*path)
            };
            let gone: Vec<&String> = bench.files.keys().filter(is_gone).collect();
            for path in gone.iter().take(3) {
                let mut edited = bench.clone();
                edited.edit(path, "# Mine.\n");
                let edited = after(&edited);
                let paths = |bench: &Bench| bench.files.keys().cloned().collect::<Vec<_>>();
                assert_eq!(paths(&edited), paths(&pure), "{path}");
                let mine = edited
                    .files
                    .iter()
                    .filter(|(_, text)| text.contains("# Mine."));
                for (path, text) in mine.clone() {
                    assert_eq!(*text, format!("{}# Mine.\n", pure.text(path)));
                }
                assert_eq!(mine.count(), 1, "{path}");

                let mut without = bench.clone();
                without.files.remove(*path);
                let without = after(&without);
                // Nobody knows that the new file is for the same, and one that is back is seen.
                assert_eq!(paths(&without), paths(&pure), "{path}");
            }
        }
    }
}
