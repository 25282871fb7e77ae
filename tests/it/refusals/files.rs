//! Files that stand in the way, or cannot be what they should.

use std::fs;
use std::process::{Command, Stdio};

use super::{AGAIN, LINK, refused, with_foo};
use crate::support::{Run, Sandbox, assert_same};

#[test]
fn init_where_other_files_stand() {
    let sandbox = Sandbox::new();
    sandbox.write("Makefile", "all:\n");
    sandbox.write("src/main.rs", "fn main() {}\n");
    let line = "init --domain example.com --project-name sandbox";
    refused(
        &sandbox,
        line,
        &format!(
            "error: `Makefile` exists with other content\n       \
             `src/main.rs` exists with other content{AGAIN}"
        ),
    );
    fs::remove_file(sandbox.path().join("Makefile")).expect("it goes");
    fs::remove_file(sandbox.path().join("src/main.rs")).expect("it goes");
    sandbox.kbr(line).success();
}

/// The folders that are read are those that are written to: all that stands in the way is named.
#[test]
fn init_where_any_file_that_kbr_emits_stands() {
    let emitted = Sandbox::with_project();
    for line in [
        "create api --kind Foo",
        "create webhook --kind Foo --defaulting",
    ] {
        emitted.kbr(line).success();
    }
    let sandbox = Sandbox::new();
    for (path, _) in emitted.tree() {
        if path != "PROJECT" {
            sandbox.write(&path, "mine\n");
        }
    }
    let fresh = Sandbox::with_project().tree();
    let kept = [
        ".gitattributes",
        ".gitignore",
        "LICENSE",
        "PROJECT",
        "README.md",
    ];
    let conflicts = fresh.keys().filter(|path| !kept.contains(&path.as_str()));
    let conflicts: Vec<String> = conflicts
        .map(|path| match path.as_str() {
            "api/src/bin/crdgen.rs" | "config/rbac/role.yaml" => {
                format!("`{path}` is to be generated, but what stands there was not written by kbr")
            }
            _ => format!("`{path}` exists with other content"),
        })
        .collect();
    refused(
        &sandbox,
        "init --domain example.com --project-name sandbox",
        &format!("error: {}{AGAIN}", conflicts.join("\n       ")),
    );
}

#[test]
fn build_output_below_a_folder_of_the_project_is_not_read() {
    let sandbox = Sandbox::with_project();
    let marker = "// +kbr:rbac:no\n";
    sandbox.write("src/target/mod.rs", marker);
    assert!(
        sandbox
            .kbr("manifests")
            .failure()
            .stderr
            .contains("src/target/mod.rs:1:1")
    );
    sandbox.write("src/target/CACHEDIR.TAG", "");
    sandbox.kbr("manifests").success();
}

#[test]
fn init_keeps_what_a_fresh_repository_has_and_says_so() {
    let sandbox = Sandbox::new();
    for path in ["README.md", "LICENSE", ".gitignore"] {
        sandbox.write(path, "mine\n");
    }
    sandbox.write(".git/HEAD", "ref: refs/heads/main\n");
    sandbox.write("notes/todo.txt", "nothing\n");
    let run = sandbox
        .kbr("init --domain example.com --project-name sandbox")
        .success();
    for path in ["README.md", "LICENSE", ".gitignore"] {
        assert!(
            run.status().contains(&format!("Kept {path}")),
            "{}",
            run.stderr
        );
        assert_eq!(sandbox.read(path), "mine\n");
    }
    assert_eq!(sandbox.read("notes/todo.txt"), "nothing\n");
}

#[test]
fn create_api_where_other_files_stand() {
    let sandbox = Sandbox::with_project();
    let (types, controller) = (
        "api/src/v1alpha1/foo_types.rs",
        "src/controller/foo_controller.rs",
    );
    sandbox.write(types, "// mine\n");
    let line = "create api --kind Foo";
    let force =
        "\n help: move what stands there out of the way, or add `--force` to write it anew\n";
    refused(
        &sandbox,
        line,
        &format!("error: `{types}` exists with other content{force}"),
    );
    sandbox.write(controller, "// mine\n");
    let both = format!(
        "`{types}` exists with other content\n       `{controller}` exists with other content"
    );
    refused(&sandbox, line, &format!("error: {both}{force}"));
    let crdgen = sandbox.read("api/src/bin/crdgen.rs");
    sandbox.write("api/src/bin/crdgen.rs", "// mine\n");
    let not_ours = "`api/src/bin/crdgen.rs` is to be generated, \
                    but what stands there was not written by kbr";
    refused(
        &sandbox,
        line,
        &format!("error: {not_ours}\n       {both}{AGAIN}"),
    );
    refused(
        &sandbox,
        &format!("{line} --force"),
        &format!("error: {not_ours}{AGAIN}"),
    );
    sandbox.write("api/src/bin/crdgen.rs", &crdgen);
    sandbox.kbr(&format!("{line} --force")).success();
}

#[test]
fn what_only_the_first_kind_creates_may_be_forced_as_well() {
    let sandbox = Sandbox::with_project();
    sandbox.write("api/src/v1alpha1.rs", "// mine\n");
    sandbox.write("config/crd/kustomization.yaml", "# mine\n");
    let line = "create api --kind Foo";
    refused(
        &sandbox,
        line,
        "error: `api/src/v1alpha1.rs` exists with other content\n       \
         `config/crd/kustomization.yaml` exists with other content\n \
         help: move what stands there out of the way, or add `--force` to write it anew\n",
    );
    sandbox.kbr(&format!("{line} --force")).success();
    assert_same(&with_foo().tree(), &sandbox.tree());
}

#[test]
fn an_edited_role_does_not_keep_another_version_out() {
    let sandbox = with_foo();
    sandbox.write("config/rbac/foo_admin_role.yaml", "# mine\n");
    sandbox
        .kbr("create api --kind Foo --version v1 --controller=false")
        .success();
    assert_eq!(sandbox.read("config/rbac/foo_admin_role.yaml"), "# mine\n");
}

#[test]
fn manifests_over_a_role_that_is_not_ours() {
    let sandbox = Sandbox::with_project();
    sandbox.write("config/rbac/role.yaml", "kind: ClusterRole\n");
    for line in ["manifests", "manifests --check"] {
        refused(
            &sandbox,
            line,
            &format!(
                "error: `config/rbac/role.yaml` is to be generated, \
                 but what stands there was not written by kbr{AGAIN}"
            ),
        );
    }
}

#[test]
fn something_else_where_a_file_or_a_folder_must_be() {
    let sandbox = Sandbox::new();
    let line = "init --domain example.com --project-name sandbox";
    sandbox.write("config", "a file\n");
    sandbox.write("Cargo.toml/file", "in a folder\n");
    fs::write(sandbox.path().join("README.md"), b"\xff\xfe").expect("a file");
    refused(
        &sandbox,
        line,
        &format!(
            "error: `Cargo.toml` is a folder\n       `README.md` is not a text file\n       \
             `config` is a file, but a folder has to stand there{AGAIN}"
        ),
    );
}

#[cfg(unix)]
#[test]
fn links_are_not_followed_out_of_the_project() {
    let outside = Sandbox::new();
    outside.write("file", "not yours\n");
    let link = |sandbox: &Sandbox, path: &str, target: &str| {
        let target = outside.path().join(target);
        std::os::unix::fs::symlink(target, sandbox.path().join(path)).expect("a link");
    };
    let sandbox = Sandbox::new();
    for (path, target) in [
        ("Makefile", "file"),
        ("api", ""),
        ("config", ""),
        ("README.md", "gone"),
    ] {
        link(&sandbox, path, target);
    }
    let init = "init --domain example.com --project-name sandbox";
    refused(
        &sandbox,
        init,
        &format!(
            "error: `Makefile` {LINK}\n       `README.md` {LINK}\n       \
             `api` {LINK}\n       `config` {LINK}{AGAIN}"
        ),
    );
    let sandbox = Sandbox::with_project();
    fs::rename(sandbox.path().join("config"), outside.path().join("config")).expect("it moves");
    link(&sandbox, "config", "config");
    let before = outside.tree();
    let text = format!("error: `config` {LINK}{AGAIN}");
    refused(&sandbox, "create api --kind Foo", &text);
    refused(&sandbox, "manifests", &text);
    assert_same(&before, &outside.tree());
}

#[cfg(unix)]
#[test]
fn an_edited_file_that_is_a_link() {
    let sandbox = Sandbox::with_project();
    let lib = sandbox.path().join("src/lib.rs");
    fs::rename(&lib, sandbox.path().join("real.rs")).expect("it moves");
    std::os::unix::fs::symlink("../real.rs", &lib).expect("a link");
    let text = format!("error: `src/lib.rs` {LINK}{AGAIN}");
    refused(&sandbox, "create api --kind Foo", &text);
}

#[test]
fn manifests_that_are_out_of_date() {
    let sandbox = Sandbox::with_project();
    sandbox.kbr("manifests --check").success();
    let lib = sandbox.read("src/lib.rs");
    sandbox.write("src/lib.rs", &format!("{lib}\nmod a;\n"));
    sandbox.write("src/a.rs", "// +kbr:rbac:groups=a,resources=b,verbs=get\n");
    let text = "error: 1 of the generated files is out of date: `config/rbac/role.yaml`\n \
                help: type `kbr manifests`, and commit what it writes\n";
    refused(&sandbox, "manifests --check", text);
    sandbox.kbr("manifests").success();
    sandbox.kbr("manifests --check").success();
    fs::remove_file(sandbox.path().join("config/rbac/role.yaml")).expect("it goes");
    refused(&sandbox, "manifests --check", text);
}

#[test]
fn cargo_that_is_not_there() {
    let sandbox = with_foo();
    let before = sandbox.tree();
    let run: Run = Command::new(env!("CARGO_BIN_EXE_kbr"))
        .arg("manifests")
        .current_dir(sandbox.path())
        .env("PATH", "")
        .stdin(Stdio::null())
        .output()
        .expect("kbr runs")
        .into();
    run.refused(
        1,
        "error: could not start `cargo`: No such file or directory (os error 2)\n \
         help: install Rust from https://rustup.rs, and see that `cargo` is on PATH\n",
    );
    assert_same(&before, &sandbox.tree());
}

/// The compiler's errors are told from a crash of what it has compiled.
#[cfg(unix)]
#[test]
fn types_that_do_not_compile_and_a_crdgen_that_crashes() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = with_foo();
    let before = sandbox.tree();
    let bin = Sandbox::new();
    let path = format!("{}:/usr/bin:/bin", bin.path().display());
    for (cargo, text) in [
        (
            "exit 101",
            "error: `cargo run --bin crdgen` failed: cargo's messages stand above\n \
             help: fix the errors above, and type the same command again\n",
        ),
        (
            "kill -ABRT $$",
            "error: `cargo run --bin crdgen` was ended by a signal\n \
             help: where its stack overflowed, a type that derives `KubeSchema` contains itself\n",
        ),
    ] {
        bin.write("cargo", &format!("#!/bin/sh\n{cargo}\n"));
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(bin.path().join("cargo"), mode).expect("a mode");
        let run: Run = Command::new(env!("CARGO_BIN_EXE_kbr"))
            .arg("manifests")
            .current_dir(sandbox.path())
            .env("PATH", &path)
            .stdin(Stdio::null())
            .output()
            .expect("kbr runs")
            .into();
        run.refused(1, text);
    }
    assert_same(&before, &sandbox.tree());
}

#[test]
fn everything_that_is_in_the_way_all_at_once() {
    let sandbox = Sandbox::with_project();
    sandbox.write("src/controller.rs", "");
    sandbox.write("api/src/v1alpha1.rs", "mine\n");
    fs::remove_file(sandbox.path().join("src/lib.rs")).expect("the file goes");
    refused(
        &sandbox,
        "create api --kind Foo",
        "error: `api/src/v1alpha1.rs` exists with other content\n       \
         `src/controller.rs` has no line `// +kbr:scaffold:modules`, \
         where `pub mod foo_controller;` has to go\n       \
         `src/lib.rs` does not exist, but \
         `controller::foo_controller::register,` has to go into it\n \
         help: move what stands there out of the way, or add `--force` to write it anew\n \
         help: in `src/controller.rs`, put this line back where `pub mod foo_controller;` belongs: \
         `// +kbr:scaffold:modules`\n \
         help: take the file back from version control, and type the same command again\n",
    );
}
