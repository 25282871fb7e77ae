//! What is beside the files that kbr renders: modules that their owner removed, and other packages.

use super::{RENAME, SINGLE};
use crate::commands::module_moves;

/// Commands that move modules or give types another name.
const MOVES: [&str; 5] = [
    RENAME,
    "rename version --group crew --version v1 --to v3",
    "rename group --group crew --to sea",
    "edit --multigroup",
    "edit --project-name other",
];

#[test]
fn a_module_that_its_owner_removed_is_in_no_commands_way() {
    for path in [
        "src/webhook/v1/captain_validator.rs",
        "src/webhook/v1/captain_defaulter.rs",
        "src/controller/captain_controller.rs",
    ] {
        let mut project = SINGLE.clone();
        project.files.remove(path).expect(path);
        let (folder, file) = path.rsplit_once('/').expect("a folder");
        let name = file.trim_end_matches(".rs");
        let parent = format!("{folder}.rs");
        let text = project.text(&parent);
        let lines: Vec<&str> = text
            .lines()
            .filter(|line| !line.ends_with(&format!("mod {name};")))
            .collect();
        assert_ne!(lines.len(), text.lines().count(), "{parent}");
        let text = lines.join("\n") + "\n";
        project.files.insert(parent.clone(), text);
        for line in MOVES {
            let [with, without] =
                [&SINGLE.clone(), &project].map(|bench| bench.after(line).files.len());
            assert_eq!(without + 1, with, "{path} is back after {line}");
        }
        // Whoever removed only the file has something to do.
        let mut broken = SINGLE.clone();
        broken.files.remove(path);
        assert_eq!(broken.refused(RENAME), ["move-missing"]);
    }
}

#[test]
fn code_of_other_packages_follows_what_is_renamed() {
    let code = |crates: [&str; 2], path: &str, kind: &str| {
        let [api, own] = crates;
        format!(
            "use {api}::{path}::{kind};\nuse another::Captain as Other;\n\
             fn f(a: {kind}, b: Other) -> {api}::{path}::{kind}Spec {{\n    \
             {own}::controller::register();\n}}\n"
        )
    };
    let was = ["bench_api", "bench"];
    let manifest = |name: &str| {
        format!(
            "[dependencies]\n{name} = {{ path = \"..\" }}\n{name}-api = {{ path = \"../api\" }}\n"
        )
    };
    let mut project = SINGLE.clone();
    let main = "tools/src/main.rs";
    project
        .files
        .insert(main.to_owned(), code(was, "v1", "Captain"));
    project
        .files
        .insert("tools/Cargo.toml".to_owned(), manifest("bench"));
    for (line, expected) in MOVES.into_iter().zip([
        code(was, "v1", "Warden"),
        code(was, "v3", "Captain"),
        code(was, "v1", "Captain"),
        code(was, "crew::v1", "Captain"),
        code(["other_api", "other"], "v1", "Captain"),
    ]) {
        let after = project.after(line);
        assert_eq!(after.text(main), expected, "{line}");
        let name = if line.contains("project") {
            "other"
        } else {
            "bench"
        };
        assert_eq!(after.text("tools/Cargo.toml"), manifest(name), "{line}");
    }
    assert!(module_moves::uses(&project.project(), &manifest("bench")));
    let others = "[package]\nname = \"tools\"\n\n[dependencies]\nserde = \"1\"\n";
    assert!(!module_moves::uses(&project.project(), others));
}
