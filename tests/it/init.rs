//! `kbr init`: the files in the folder afterwards, and those that existed before.

use crate::support::{Sandbox, differences};

#[test]
fn the_short_form_takes_the_folders_name() {
    let sandbox = Sandbox::new();
    let run = sandbox
        .kbr("init My-Operator --domain example.com")
        .success();
    assert_eq!(run.stdout, "");
    assert_eq!(
        run.status().last().map(String::as_str),
        Some("Next cd My-Operator && kbr create api --kind KIND")
    );
    assert!(
        sandbox
            .read("My-Operator/PROJECT")
            .contains("\nprojectName: my-operator\n")
    );
    assert!(
        sandbox
            .read("My-Operator/Cargo.toml")
            .contains("\nname = \"my-operator\"\n")
    );
}

#[test]
fn the_current_folder_another_folder_and_dash_c_give_the_same_project() {
    let (here, there, dash_c) = (Sandbox::new(), Sandbox::new(), Sandbox::new());
    here.kbr("init --domain example.com --project-name one")
        .success();
    there
        .kbr("init deep/down --domain example.com --project-name one")
        .success();
    dash_c.write("below/.keep", "");
    dash_c
        .kbr("-C below init --domain example.com --project-name one")
        .success();
    let below = |sandbox: &Sandbox, folder: &str| {
        let mut tree = crate::support::tree(&sandbox.path().join(folder));
        tree.remove(".keep");
        tree
    };
    assert_eq!(
        differences(&here.tree(), &below(&there, "deep/down")),
        [""; 0]
    );
    assert_eq!(differences(&here.tree(), &below(&dash_c, "below")), [""; 0]);
}

#[test]
fn a_fresh_repository_keeps_its_readme_license_and_ignore_file() {
    let sandbox = Sandbox::new();
    for name in ["README.md", "LICENSE", ".gitattributes", ".gitignore"] {
        sandbox.write(name, "mine\n");
    }
    sandbox.write(".git/HEAD", "ref: refs/heads/main\n");
    let run = sandbox
        .kbr("init --domain example.com --project-name fresh")
        .success();
    for name in ["README.md", "LICENSE", ".gitattributes", ".gitignore"] {
        assert_eq!(sandbox.read(name), "mine\n");
        assert!(
            run.status().contains(&format!("Kept {name}")),
            "{}",
            run.stderr
        );
        assert!(
            !sandbox.read("PROJECT").contains(&format!("  {name}:")),
            "a kept file is not recorded"
        );
    }
    assert!(run.status().contains(&"Created Makefile".to_owned()));
    assert!(
        run.stderr.contains("Warning `LICENSE` is kept, but"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_kept_ignore_file_without_the_build_output_causes_a_warning() {
    for (text, is_warned) in [
        ("*.log\n# target\n/src/target\n!/target\n", true),
        ("", true),
        ("*.log\n/target\n", false),
        ("target/\r\n", false),
        ("**/target/**", false),
    ] {
        let sandbox = Sandbox::new();
        sandbox.write(".gitignore", text);
        let run = sandbox
            .kbr("init --domain example.com --project-name fresh")
            .success();
        let warning = "Warning `.gitignore` is kept, and does not ignore what cargo builds: \
                       add the line `/target`"
            .to_owned();
        assert_eq!(run.status().contains(&warning), is_warned, "{text:?}");
        assert_eq!(sandbox.read(".gitignore"), text);
    }
}

#[test]
fn each_rust_file_of_the_users_starts_with_the_license() {
    let sandbox = Sandbox::new();
    sandbox
        .run(&[
            "init",
            "--domain",
            "example.com",
            "--project-name",
            "one",
            "--owner",
            "Jörg & Söhne",
        ])
        .success();
    sandbox.kbr("create api --kind Foo").success();
    let header = "// Copyright Jörg & Söhne\n// SPDX-License-Identifier: Apache-2.0\n\n";
    for path in [
        "src/main.rs",
        "api/src/v1alpha1/foo_types.rs",
        "src/controller/foo_controller.rs",
    ] {
        assert!(sandbox.read(path).starts_with(header), "{path}");
    }
    assert!(sandbox.read("LICENSE").contains("Apache License"));
    assert!(
        sandbox
            .read("Cargo.toml")
            .contains("\nlicense = \"Apache-2.0\"\n")
    );
}

#[test]
fn without_a_license_no_file_mentions_one() {
    let sandbox = Sandbox::new();
    sandbox
        .kbr("init --domain example.com --project-name one --license none --repo https://example.com/a/b")
        .success();
    sandbox.kbr("create api --kind Foo").success();
    for (path, text) in sandbox.tree() {
        // `deny.toml` lists the licenses that dependencies may have.
        let is_theirs = path.starts_with("third_party/") || path == "deny.toml";
        let is_mentioned = text.contains("Apache") || text.contains("SPDX");
        assert!(is_theirs || !is_mentioned, "{path}");
    }
    assert!(
        sandbox
            .read("Cargo.toml")
            .contains("\nrepository = \"https://example.com/a/b\"\n")
    );
    assert!(sandbox.read("src/main.rs").starts_with("//! "));
}

#[test]
fn the_path_of_a_go_module_becomes_the_url_of_the_repository() {
    let sandbox = Sandbox::new();
    let module = "tutorial.kubebuilder.io/project";
    let run = sandbox.kbr(&format!(
        "init --domain example.com --project-name one --repo {module}"
    ));
    assert_eq!(run.code(), Some(0), "{run:?}");
    let said =
        format!("`{module}` is taken as the URL of the source repository, `https://{module}`");
    assert!(run.stderr.contains(&said), "{run:?}");
    let repository = format!("\nrepository = \"https://{module}\"\n");
    assert!(sandbox.read("Cargo.toml").contains(&repository));
}

#[test]
fn files_that_kbr_owns_say_so_in_their_first_line() {
    let sandbox = Sandbox::with_project();
    for (path, text) in sandbox.tree() {
        let is_kbrs =
            ["PROJECT", "config/rbac/role.yaml", "api/src/bin/crdgen.rs"].contains(&path.as_str());
        let says_so = text
            .lines()
            .next()
            .is_some_and(|line| line.contains("Generated by kbr"));
        assert_eq!(is_kbrs, says_so, "{path}");
    }
}

#[test]
fn project_records_a_hash_of_each_file() {
    use sha2::{Digest, Sha256};
    let sandbox = Sandbox::with_project();
    let project = sandbox.read("PROJECT");
    for (path, text) in sandbox.tree() {
        let hash: String = Sha256::digest(&text)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let is_recorded = project.contains(&format!("\n  {path}: {hash}\n"));
        let generated = ["PROJECT", "api/src/bin/crdgen.rs", "config/rbac/role.yaml"];
        let is_expected = !generated.contains(&path.as_str()) && !path.starts_with("third_party/");
        assert_eq!(is_recorded, is_expected, "{path}");
    }
}

#[test]
fn version_and_completion_print_to_standard_output() {
    let sandbox = Sandbox::new();
    let version = sandbox.kbr("version").success();
    assert_eq!(version.stderr, "");
    assert!(
        version
            .stdout
            .starts_with(&format!("kbr {}\nkube 5.", env!("CARGO_PKG_VERSION")))
    );
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = sandbox.kbr(&format!("completion {shell}")).success();
        assert!(script.stdout.contains("manifests"), "{shell}");
        assert_eq!(script.stderr, "");
    }
}

#[test]
fn every_command_has_a_man_page() {
    let sandbox = Sandbox::new();
    let kbr = sandbox.kbr("man").success().stdout;
    assert!(kbr.contains(".TH kbr 1"), "{kbr}");
    for (line, name) in [
        ("man create", "kbr-create"),
        ("man create api", "kbr-create-api"),
        ("man update", "kbr-update"),
    ] {
        let page = sandbox.kbr(line).success().stdout;
        assert!(page.contains(&format!(".TH {name} 1")), "{page}");
        assert!(page.contains(r"\-\-dry\-run"), "{page}");
    }
}

#[test]
fn help_is_a_command_and_an_option() {
    let sandbox = Sandbox::new();
    for (command, option) in [("help", "--help"), ("help create api", "create api --help")] {
        let help = sandbox.kbr(command).success();
        assert_eq!(help.stdout, sandbox.kbr(option).success().stdout);
    }
}

#[test]
fn help_prints_a_chapter_of_the_guide() {
    let sandbox = Sandbox::new();
    let chapter = sandbox.kbr("help webhooks").success();
    assert!(
        chapter.stdout.starts_with("# Webhooks: "),
        "{}",
        chapter.stdout
    );
    assert_eq!(chapter.stderr, "");
    let refused = sandbox.kbr("help webhok").refused_with(2);
    let said = "error: kbr has no command and no topic 'webhok': type `kbr help webhooks`";
    assert!(refused.starts_with(said), "{refused}");
    assert!(refused.contains("`kbr help topics`"), "{refused}");
    let listed = sandbox.kbr("help topics").success().stdout;
    let first = listed.lines().nth(1).unwrap_or_default();
    assert!(first.starts_with("  first-operator "), "{listed}");
    let nothing = sandbox.kbr("help create apy").refused_with(2);
    assert!(nothing.contains("'create apy'"), "{nothing}");
    let more = sandbox.kbr("help webhooks more words").refused_with(2);
    let said = "error: unexpected argument 'more' found\n\nUsage: kbr help ";
    assert!(more.starts_with(said), "{more}");
}

#[test]
fn colour_is_used_when_requested_and_not_in_a_pipe() {
    let sandbox = Sandbox::new();
    let plain = sandbox.kbr("init a --domain example.com").success();
    assert!(!plain.stderr.contains('\u{1b}'));
    let coloured = sandbox
        .kbr("init b --domain example.com --color always")
        .success();
    assert!(coloured.stderr.contains("\u{1b}["));
    let never = sandbox
        .kbr("init c --domain example.com --color never")
        .success();
    assert!(!never.stderr.contains('\u{1b}'));
}
