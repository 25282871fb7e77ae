//! Random histories of commands on disk: whatever has happened to a project, kustomize builds it, its chart has
//! the same objects, there is a bundle, nothing is out of date, and it compiles.
//!
//! The histories in memory (`commands::tests::laws`) check each step, and edits of the owner; these check what only
//! other programs can say.

use serde_json::Value;

use crate::chart::{Chart, assert_equal};
use crate::support::goldens::share_runtime;
use crate::support::random::{Random, again, seeds};
use crate::support::{Sandbox, cargo, compiling, git, say};

const GROUPS: [&str; 2] = ["crew", "ship"];
const KINDS: [&str; 3] = ["Captain", "FirstMate", "Boat"];
const VERSIONS: [&str; 2] = ["v1", "v2"];

/// How many histories a run draws. Most of the time, each compiles.
const HISTORIES: u64 = 6;

/// Group, version and kind of a type: mostly one that the project has.
fn drawn(random: &mut Random, project: &Sandbox) -> [String; 3] {
    let read: Value = serde_saphyr::from_str(&project.read("PROJECT")).expect("YAML");
    let resources = read["resources"].as_array().cloned().unwrap_or_default();
    let is_own = |it: &&Value| GROUPS.iter().any(|group| it["group"] == *group);
    let own: Vec<&Value> = resources.iter().filter(is_own).collect();
    match own.is_empty() || random.one_in(4) {
        true => [&GROUPS[..], &VERSIONS[..], &KINDS[..]].map(|all| random.pick(all).to_owned()),
        false => {
            let it = own[random.below(own.len())];
            ["group", "version", "kind"].map(|key| it[key].as_str().expect("a text").to_owned())
        }
    }
}

/// A command line that is often possible.
fn command(random: &mut Random, project: &Sandbox) -> String {
    let [group, version, kind] = drawn(random, project);
    let of = format!("--group {group} --version {version} --kind {kind}");
    match random.below(21) {
        0..2 => format!("create api {of}"),
        2 | 3 => format!(
            "create api --group {group} --version {} --kind {kind} --controller=false",
            random.pick(&VERSIONS)
        ),
        4 => format!("create api {of} --image busybox:1 --image-port 80"),
        5 => "create api --group apps --version v1 --kind Deployment --resource=false".to_owned(),
        6 | 7 => format!("create webhook {of} --defaulting"),
        8 | 9 => format!("create webhook {of} --programmatic-validation"),
        10 => {
            let spoke = if version == "v1" { "v2" } else { "v1" };
            format!("create webhook {of} --conversion --spoke {spoke}")
        }
        11 => format!("create policy {of} --validating"),
        12 => "create webhook --group core --version v1 --kind Pod --defaulting".to_owned(),
        13 => format!("edit --multigroup={}", random.one_in(2)),
        14 => format!(
            "edit --certificates {}",
            random.pick(&["self-managed", "cert-manager"])
        ),
        15 => format!(
            "rename kind --group {group} --kind {kind} --to {}",
            random.pick(&KINDS)
        ),
        16 => format!("rename group --group {group} --to {}", random.pick(&GROUPS)),
        17 => format!("delete webhook {of} --defaulting"),
        18 => format!("delete api {of}"),
        19 => format!("edit --namespaced={}", random.one_in(2)),
        _ => format!("edit --project-name {}", random.pick(&["deep", "wide-sea"])),
    }
}

fn save(project: &Sandbox) {
    git(project, "add --all");
    git(project, "commit --quiet --allow-empty -m x");
}

/// Carries out a history, and returns the project and the name that it has at the end.
fn history(random: &mut Random) -> (Sandbox, Vec<String>) {
    let project = Sandbox::new();
    let options = random.pick(&[
        "",
        "",
        " --multigroup",
        " --namespaced",
        " --certificates cert-manager",
    ]);
    let first = format!("init --domain example.com --project-name sea{options}");
    project.kbr(&first).success();
    git(&project, "init --quiet");
    save(&project);
    let mut lines = vec![first];
    for number in 0..14 {
        let line = match number {
            0 => format!(
                "create api --group crew --version v1 --kind {}",
                random.pick(&KINDS)
            ),
            _ => command(random, &project),
        };
        let before = project.tree();
        let run = project.kbr(&line);
        match run.code() {
            Some(0) => {
                save(&project);
                lines.push(line);
            }
            Some(1) => assert_eq!(
                before,
                project.tree(),
                "refused, and something has changed: {line}"
            ),
            code => panic!("{code:?}: {line}\n{}", run.stderr),
        }
    }
    (project, lines)
}

fn name_of(project: &Sandbox) -> &'static str {
    let text = project.read("PROJECT");
    let name = text
        .lines()
        .find_map(|line| line.strip_prefix("projectName: "));
    name.expect("a name").to_owned().leak()
}

#[test]
fn a_project_works_after_every_history() {
    for seed in seeds(HISTORIES, 1) {
        let (project, lines) = history(&mut Random::new(seed));
        let shown = format!(
            "the history of seed {seed}:\n  kbr {}\n{}",
            lines.join("\n  kbr "),
            again(seed, "histories")
        );
        say(&format!("{shown}\n"));
        let name = name_of(&project);
        let of_history = |what: &str, is_right: bool| assert!(is_right, "{what}: {shown}");
        {
            let _alone = compiling();
            share_runtime(project.path());
            of_history("manifests", project.kbr("manifests").code() == Some(0));
            let check = "check --workspace --all-targets --locked --offline";
            of_history("it compiles", cargo(project.path(), check));
        }
        save(&project);
        for line in [
            "chart",
            "bundle --version 1.0.0",
            "manifests --check",
            "chart --check",
            "update --check",
        ] {
            let run = project.kbr(line);
            // OLM does not support each webhook.
            let is_right = run.code() == Some(0) || run.stderr.contains("OLM does not support");
            of_history(&format!("kbr {line}\n{}", run.stderr), is_right);
            save(&project);
        }
        assert_equal(&Chart { project, name });
    }
}
