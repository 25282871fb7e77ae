//! `kbr create api`: files, wiring, and what a second API adds to the first.

use crate::support::{Sandbox, assert_formatted, assert_same, differences};

/// The paths that a run created, and those that it edited or updated.
fn changed(stderr: &str) -> (Vec<String>, Vec<String>) {
    let of = |words: &[&str]| {
        let lines = stderr
            .lines()
            .filter_map(|line| line.trim().split_once(' '));
        lines
            .filter(|(word, _)| words.contains(word))
            .map(|(_, path)| path.to_owned())
            .collect()
    };
    (of(&["Created"]), of(&["Edited", "Updated"]))
}

#[test]
fn the_first_api_is_wired_in_everywhere() {
    let sandbox = Sandbox::with_project();
    let run = sandbox
        .kbr("create api --group batch --version v1 --kind CronJob")
        .success();
    let (created, edited) = changed(&run.stderr);
    assert_eq!(
        created,
        [
            "api/src/v1.rs",
            "api/src/v1/cronjob_types.rs",
            "config/crd/kustomization.yaml",
            "config/rbac/cronjob_admin_role.yaml",
            "config/rbac/cronjob_editor_role.yaml",
            "config/rbac/cronjob_viewer_role.yaml",
            "config/samples/batch_v1_cronjob.yaml",
            "config/samples/kustomization.yaml",
            "src/controller/cronjob_controller.rs",
            "tests/it/cronjob_controller.rs",
            "tests/it/samples.rs",
            "tests/stored/batch_v1_cronjob.yaml",
        ]
    );
    assert_eq!(
        edited,
        [
            "api/src/bin/crdgen.rs",
            "api/src/lib.rs",
            "config/default/kustomization.yaml",
            "config/rbac/kustomization.yaml",
            "src/controller.rs",
            "src/lib.rs",
            "tests/crash.rs",
            "tests/it/main.rs",
            "PROJECT",
        ]
    );
    assert_eq!(
        run.status().last().map(String::as_str),
        Some("Next kbr manifests")
    );
    let holds = |path: &str, line: &str| {
        let text = sandbox.read(path);
        assert!(
            text.lines().any(|l| l.trim() == line),
            "{line:?} in {path}:\n{text}"
        );
    };
    holds("api/src/lib.rs", "pub mod v1;");
    holds("api/src/v1.rs", "mod cronjob_types;");
    holds("api/src/v1.rs", "pub use cronjob_types::*;");
    holds("src/controller.rs", "pub mod cronjob_controller;");
    holds("src/lib.rs", "controller::cronjob_controller::register,");
    holds(
        "tests/crash.rs",
        "\"config/samples/batch_v1_cronjob.yaml\",",
    );
    holds("tests/it/main.rs", "mod cronjob_controller;");
    holds("tests/it/main.rs", "mod samples;");
    holds("config/default/kustomization.yaml", "- ../crd");
    holds(
        "config/crd/kustomization.yaml",
        "- \"bases/batch.example.com_cronjobs.yaml\"",
    );
    holds(
        "config/samples/kustomization.yaml",
        "- \"batch_v1_cronjob.yaml\"",
    );
    holds(
        "config/rbac/kustomization.yaml",
        "- cronjob_editor_role.yaml",
    );
    holds("PROJECT", "storage: true");
}

#[test]
fn a_first_controller_is_short() {
    const LONGEST: usize = 51;
    for option in ["", " --namespaced"] {
        let sandbox = Sandbox::new();
        let init = format!("init --domain example.com --project-name sandbox{option}");
        sandbox.kbr(&init).success();
        sandbox.kbr("create api --kind Captain").success();
        let code = sandbox.read("src/controller/captain_controller.rs");
        let (before_tests, _) = code.split_once("\n#[cfg(test)]").expect("tests");
        let lines = before_tests.lines().count();
        assert!(lines <= LONGEST, "{lines} lines:\n{before_tests}");
        assert_formatted(&sandbox);
    }
}

#[test]
fn a_second_kind_adds_lines_and_touches_nothing_else() {
    let sandbox = Sandbox::with_project();
    sandbox.kbr("create api --kind Policy").success();
    let before = sandbox.tree();
    let run = sandbox.kbr("create api --kind HTTPProxy").success();
    let (created, _) = changed(&run.stderr);
    assert!(
        created.contains(&"src/controller/httpproxy_controller.rs".to_owned()),
        "{created:?}"
    );
    for (path, text) in before
        .iter()
        .filter(|(path, _)| !["PROJECT", "api/src/bin/crdgen.rs"].contains(&path.as_str()))
    {
        let now = sandbox.read(path);
        let mut now = now.lines();
        assert!(
            text.lines().all(|line| now.any(|other| other == line)),
            "{path} lost a line"
        );
    }
    assert!(
        sandbox
            .read("config/crd/kustomization.yaml")
            .contains("bases/example.com_httpproxies.yaml")
    );
    assert!(
        sandbox
            .read("config/crd/kustomization.yaml")
            .contains("bases/example.com_policies.yaml")
    );
}

#[test]
fn a_resource_without_a_controller_gets_one_later() {
    let (at_once, later) = (Sandbox::with_project(), Sandbox::with_project());
    at_once.kbr("create api --kind Foo").success();
    later
        .kbr("create api --kind Foo --controller=false")
        .success();
    assert!(!later.path().join("src/controller").exists());
    assert!(!later.read("PROJECT").contains("controller: true"));
    let run = later
        .kbr("create api --kind Foo --resource=false")
        .success();
    assert_eq!(
        changed(&run.stderr).0,
        [
            "src/controller/foo_controller.rs",
            "tests/it/foo_controller.rs"
        ]
    );
    assert_eq!(differences(&at_once.tree(), &later.tree()), [""; 0]);
}

#[test]
fn every_spelling_of_a_boolean_option_works() {
    for (spelling, wanted) in [
        ("--controller", true),
        ("--controller=true", true),
        ("--controller true", true),
        ("--controller=false", false),
        ("--controller false", false),
        ("", true),
    ] {
        let sandbox = Sandbox::with_project();
        sandbox
            .kbr(&format!("create api --kind Foo {spelling}"))
            .success();
        assert_eq!(
            sandbox
                .path()
                .join("src/controller/foo_controller.rs")
                .exists(),
            wanted,
            "{spelling}"
        );
    }
}

#[test]
fn a_second_version_keeps_the_plural_and_the_stored_version() {
    let sandbox = Sandbox::with_project();
    sandbox
        .kbr("create api --kind Octopus --version v1 --plural octopods")
        .success();
    sandbox
        .kbr("create api --kind Octopus --version v2")
        .success();
    let project = sandbox.read("PROJECT");
    assert_eq!(project.matches("plural: octopods").count(), 2);
    assert_eq!(project.matches("storage: true").count(), 1);
    assert_eq!(
        sandbox
            .read("config/crd/kustomization.yaml")
            .matches("bases/")
            .count(),
        1
    );
    assert!(
        sandbox
            .read("api/src/v2/octopus_types.rs")
            .contains("plural = \"octopods\"")
    );
}

#[test]
fn a_second_version_of_a_kind_with_a_controller_gets_none() {
    let sandbox = Sandbox::with_project();
    sandbox.kbr("create api --kind Foo --version v1").success();
    let run = sandbox.kbr("create api --kind Foo --version v2").success();
    assert_eq!(
        changed(&run.stderr).0,
        [
            "api/src/v2.rs",
            "api/src/v2/foo_types.rs",
            "config/samples/v2_foo.yaml",
            "tests/stored/v2_foo.yaml"
        ]
    );
    assert_eq!(
        sandbox.read("PROJECT").matches("controller: true").count(),
        1
    );
    let fresh = sandbox.tree();
    sandbox
        .kbr("create api --kind Foo --version v2 --force")
        .success();
    assert_eq!(differences(&fresh, &sandbox.tree()), [""; 0]);
}

#[test]
fn a_second_version_of_a_kind_without_a_controller_gets_one() {
    let sandbox = Sandbox::with_project();
    sandbox
        .kbr("create api --kind Foo --version v1 --controller=false")
        .success();
    sandbox.kbr("create api --kind Foo --version v2").success();
    assert!(
        sandbox
            .read("src/controller/foo_controller.rs")
            .contains("use api::v2;")
    );
}

#[test]
fn each_version_has_a_sample_with_its_own_name() {
    let sandbox = Sandbox::with_project();
    let long = "K".repeat(59);
    for kind in ["Foo", &long] {
        for version in ["v1", "v2"] {
            let line = format!("create api --kind {kind} --version {version}");
            sandbox.kbr(&line).success();
        }
    }
    let lower = long.to_lowercase();
    for (file, name) in [
        ("v1_foo", "foo-sample"),
        ("v2_foo", "foo-v2-sample"),
        (&format!("v1_{lower}"), "sample"),
        (&format!("v2_{lower}"), "v2-sample"),
    ] {
        let sample = sandbox.read(&format!("config/samples/{file}.yaml"));
        assert!(
            sample.contains(&format!("\n  name: \"{name}\"\n")),
            "{sample}"
        );
        assert_eq!(sandbox.read(&format!("tests/stored/{file}.yaml")), sample);
    }
}

#[test]
fn a_cluster_scoped_kind_is_in_no_namespace_in_any_of_its_versions() {
    let sandbox = Sandbox::with_project();
    let admiral = "create api --group ship --kind Admiral --plural admirales";
    sandbox
        .kbr(&format!("{admiral} --version v1 --namespaced=false"))
        .success();
    sandbox
        .kbr(&format!("{admiral} --version v2 --controller=false"))
        .success();

    for version in ["v1", "v2"] {
        let types = sandbox.read(&format!("api/src/{version}/admiral_types.rs"));
        assert!(!types.contains("namespaced"), "{types}");
    }
    for file in [
        "src/controller/admiral_controller.rs",
        "tests/it/admiral_controller.rs",
    ] {
        let code = sandbox.read(file);
        assert!(
            code.contains("all(") && !code.contains("namespace"),
            "{code}"
        );
    }
    let project = sandbox.read("PROJECT");
    assert_eq!(project.matches("namespaced: false").count(), 2, "{project}");

    let before = sandbox.tree();
    let run = sandbox
        .kbr(&format!("{admiral} --version v3 --namespaced"))
        .failure();
    assert_eq!(
        run.stderr,
        "error: `Admiral` already has the scope `namespaced: false`\n \
         help: type `--namespaced=false`, or omit it; all versions of a kind have the same scope\n"
    );
    assert_eq!(differences(&before, &sandbox.tree()), [""; 0]);
}

#[test]
fn force_rewrites_the_files_and_duplicates_no_line() {
    let sandbox = Sandbox::with_project();
    sandbox.kbr("create api --kind Foo").success();
    let fresh = sandbox.tree();
    for path in [
        "api/src/v1alpha1/foo_types.rs",
        "src/controller/foo_controller.rs",
        "config/samples/v1alpha1_foo.yaml",
        "tests/stored/v1alpha1_foo.yaml",
    ] {
        sandbox.write(path, "edited\n");
    }
    sandbox.kbr("create api --kind Foo --force").success();
    assert_eq!(differences(&fresh, &sandbox.tree()), [""; 0]);
}

#[test]
fn the_users_own_lines_around_a_marker_stay() {
    let sandbox = Sandbox::with_project();
    sandbox.edit(
        "src/controller.rs",
        "// +kbr:scaffold:modules",
        "mod helpers;\r\n// +kbr:scaffold:modules",
    );
    sandbox.kbr("create api --kind Foo").success();
    let text = sandbox.read("src/controller.rs");
    let expected = "pub mod foo_controller;\nmod helpers;\r\n// +kbr:scaffold:modules\n";
    assert!(text.ends_with(expected), "{text}");
}

#[test]
fn repeating_a_command_that_was_interrupted_before_it_wrote_project_finishes_it() {
    let sandbox = Sandbox::with_project();
    let before = sandbox.read("PROJECT");
    sandbox.kbr("create api --kind Foo").success();
    // A file that already had its line keeps its hash, since kbr cannot know who wrote the line.
    let but_project = |sandbox: &Sandbox| {
        let mut tree = sandbox.tree();
        tree.remove("PROJECT").expect("PROJECT");
        tree
    };
    let after = but_project(&sandbox);
    for lost in [
        "config/samples/v1alpha1_foo.yaml",
        "src/controller/foo_controller.rs",
    ] {
        std::fs::remove_file(sandbox.path().join(lost)).expect("a file");
        sandbox.write("PROJECT", &before);
        sandbox.kbr("create api --kind Foo").success();
        assert_eq!(differences(&after, &but_project(&sandbox)), [""; 0]);
        assert!(sandbox.read("PROJECT").contains("kind: Foo"));
    }
}

#[test]
fn a_file_that_already_has_the_line_keeps_its_recorded_hash() {
    let sandbox = Sandbox::with_project();
    let recorded = |sandbox: &Sandbox| {
        let project = sandbox.read("PROJECT");
        let line = project
            .lines()
            .find(|line| line.contains(" src/controller.rs: "));
        line.expect("a hash").to_owned()
    };
    let as_rendered = recorded(&sandbox);
    sandbox.edit(
        "src/controller.rs",
        "// +kbr",
        "pub mod foo_controller;\n// +kbr",
    );
    sandbox.kbr("create api --kind Foo").success();
    assert_eq!(recorded(&sandbox), as_rendered);
}

#[test]
fn project_is_valid_without_its_comments() {
    let sandbox = Sandbox::with_project();
    let project = sandbox.read("PROJECT");
    let bare: String = project
        .split_inclusive('\n')
        .filter(|line| !line.starts_with('#'))
        .collect();
    sandbox.write("PROJECT", &bare);
    sandbox.kbr("create api --kind Foo").success();
    assert!(sandbox.read("PROJECT").starts_with("# Generated by kbr"));
}

#[test]
fn the_next_command_works_in_the_users_folder() {
    let sandbox = Sandbox::new();
    let last = |line: &str| {
        let run = sandbox.kbr(line).success();
        run.status().pop().expect("a line")
    };
    sandbox.write("some where/.keep", "");
    assert_eq!(
        last("init a/b --domain example.com"),
        "Next cd a/b && kbr create api --kind KIND"
    );
    assert_eq!(
        last("-C a init c --domain example.com"),
        "Next cd a/c && kbr create api --kind KIND"
    );
    assert_eq!(
        last("-C a/b create api --kind Foo"),
        "Next cd a/b && kbr manifests"
    );
    let quoted = sandbox.run(&[
        "init",
        "some where",
        "--domain",
        "example.com",
        "--project-name",
        "x",
    ]);
    assert!(
        quoted
            .success()
            .stderr
            .ends_with("Next cd 'some where' && kbr create api --kind KIND\n")
    );
}

/// On a terminal both questions are asked, and Enter means yes. There is no question about the controller of
/// a kind that already has one, and none at all with JSON output.
#[cfg(target_os = "linux")]
#[test]
fn questions_are_asked_on_a_terminal_but_not_in_a_pipe() {
    use std::io::Write;
    use std::process::{Command, Stdio};
    let type_in = |sandbox: &Sandbox, options: &str, answers: &str| {
        let kbr = env!("CARGO_BIN_EXE_kbr");
        let line = format!("{kbr} create api --kind Foo {options}");
        let mut terminal = Command::new("script")
            .args(["--quiet", "--return", "--command", &line, "/dev/null"])
            .current_dir(sandbox.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("`script` of util-linux makes a terminal: install the package bsdutils");
        let mut stdin = terminal.stdin.take().expect("a pipe");
        stdin.write_all(answers.as_bytes()).expect("the answers");
        let output = terminal.wait_with_output().expect("`script` ends");
        drop(stdin);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        (output.status.success(), said)
    };
    let ask = |first: &str, options: &str, answers: &str| {
        let sandbox = Sandbox::with_project();
        if !first.is_empty() {
            sandbox.kbr(first).success();
        }
        let (is_success, said) = type_in(&sandbox, options, answers);
        assert!(is_success, "{said}");
        let is_asked = said.contains("Create the controller? [Y/n]");
        assert_eq!(is_asked, (first, options) == ("", ""), "{said}");
        sandbox
    };
    let yes = ask("", "", "\nwhat?\nY\n");
    assert!(yes.path().join("src/controller/foo_controller.rs").exists());
    let no = ask("", "", "y\nno\n");
    assert!(no.path().join("api/src/v1alpha1/foo_types.rs").exists());
    assert!(!no.path().join("src/controller").exists());
    let second = ask("create api --kind Foo --version v1", "", "y\n");
    assert!(second.path().join("api/src/v1alpha1/foo_types.rs").exists());
    assert_eq!(
        second.read("PROJECT").matches("controller: true").count(),
        1
    );
    let json = ask("", "--output json", "");
    assert!(
        json.path()
            .join("src/controller/foo_controller.rs")
            .exists()
    );
    let (is_success, said) = type_in(&Sandbox::with_project(), "", "n\nn\n");
    assert!(!is_success, "{said}");
    let last = said.lines().last().expect("a line");
    let nothing = ": nothing to do: neither the resource nor a controller would be created";
    assert!(last.ends_with(nothing), "no option was typed: {said}");
}

/// A question is printed on standard error.
#[cfg(target_os = "linux")]
#[test]
fn a_question_that_nobody_would_see_is_not_asked() {
    use std::process::{Command, Stdio};
    for (redirected, is_asked) in [("2> log", false), ("> log", true)] {
        let sandbox = Sandbox::with_project();
        let kbr = env!("CARGO_BIN_EXE_kbr");
        let line = format!("{kbr} create api --kind Foo {redirected}");
        let output = Command::new("script")
            .args(["--quiet", "--return", "--command", &line, "/dev/null"])
            .current_dir(sandbox.path())
            .stdin(Stdio::null())
            .output()
            .expect("`script` of util-linux makes a terminal: install the package bsdutils");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(said.contains("[Y/n]"), is_asked, "{said}");
        assert_eq!(output.status.success(), !is_asked, "{said}");
    }
}

#[test]
fn a_controller_for_a_type_of_kubernetes_own_only_reads() {
    let sandbox = Sandbox::with_project();
    for (group, version, kind, controller, holds) in [
        (
            "apps",
            "v1",
            "Deployment",
            "deployment",
            [
                "type Object = k8s_openapi::api::apps::v1::Deployment;",
                "// +kbr:rbac:groups=apps,resources=deployments,verbs=list;watch",
            ],
        ),
        (
            "core",
            "v1",
            "Node",
            "node",
            [
                "type Object = k8s_openapi::api::core::v1::Node;",
                "// +kbr:rbac:groups=\"\",resources=nodes,verbs=list;watch",
            ],
        ),
        (
            "networking",
            "v1",
            "Ingress",
            "ingress",
            [
                "type Object = k8s_openapi::api::networking::v1::Ingress;",
                "// +kbr:rbac:groups=networking.k8s.io,resources=ingresses,verbs=list;watch",
            ],
        ),
    ] {
        sandbox
            .kbr(&format!(
                "create api --group {group} --version {version} --kind {kind} --resource=false"
            ))
            .success();
        let code = sandbox.read(&format!("src/controller/{controller}_controller.rs"));
        for line in holds {
            assert!(code.lines().any(|it| it == line), "{line}: {code}");
        }
        // For its objects, and for events about objects that it cannot read.
        assert_eq!(code.matches("+kbr:").count(), 2, "{code}");
    }
    let project = sandbox.read("PROJECT");
    let node = "- controller: true\n  core: true\n  group: core\n  kind: Node\n  plural: nodes\n  \
                version: v1\n";
    assert!(project.contains(node), "{project}");

    sandbox.kbr("manifests").success();
    let role = sandbox.read("config/rbac/role.yaml");
    let verbs = role.matches("  verbs:\n  - list\n  - watch\n").count();
    assert_eq!((verbs, role.matches("verbs:").count()), (3, 4), "{role}");
}

#[test]
fn in_a_namespaced_project_types_of_kubernetes_own_are_watched_in_each_namespace() {
    let sandbox = Sandbox::new();
    sandbox
        .kbr("init --domain example.com --project-name sandbox --namespaced")
        .success();
    sandbox
        .kbr("create api --group core --version v1 --kind Pod --resource=false")
        .success();
    let code = sandbox.read("src/controller/pod_controller.rs");
    assert!(code.contains("manager.namespaces()"), "{code}");
    assert!(!code.contains("::all("), "{code}");
    assert_formatted(&sandbox);
}

#[test]
fn controllers_for_types_of_kubernetes_own_are_formatted_however_long_their_names_are() {
    let sandbox = Sandbox::new();
    sandbox
        .kbr("init --domain example.com --project-name a --multigroup")
        .success();
    let autoscaler = "--group autoscaling --version v2 --kind HorizontalPodAutoscaler";
    for kind in [autoscaler, "--group core --version v1 --kind Node"] {
        let line = format!("create api {kind} --resource=false");
        sandbox.kbr(&line).success();
        for length in [1, 20, 25, 30, 50, 63] {
            let letter = if kind == autoscaler { "a" } else { "n" };
            let name = letter.repeat(length);
            sandbox
                .kbr(&format!("{line} --controller-name {name}"))
                .success();
        }
    }
    assert_formatted(&sandbox);
}

#[test]
fn image_options_are_used_and_omitted_ones_are_left_to_the_image() {
    let sandbox = Sandbox::with_project();
    sandbox
        .kbr("create api --kind Cache --image memcached:1.6 --image-port 11211 --image-command memcached,--memory-limit=64 --run-as-user 1001")
        .success();
    sandbox
        .kbr("create api --kind Plain --image plain")
        .success();
    let of = |kind: &str| sandbox.read(&format!("src/controller/{kind}_controller/children.rs"));

    let cache = of("cache");
    for text in [
        "    \"memcached\",\n    \"--memory-limit=64\",\n",
        "const PORT: i32 = 11211;\n",
        "const USER: i64 = 1001;\n",
        "pub fn service(",
    ] {
        assert!(cache.contains(text), "{text}\n{cache}");
    }
    let plain = of("plain");
    for text in ["COMMAND", "PORT", "USER", "service"] {
        assert!(!plain.contains(text), "{text}\n{plain}");
    }
    let sample = sandbox.read("config/samples/v1alpha1_cache.yaml");
    assert!(
        sample.contains("  size: 3\n  image: \"memcached:1.6\"\n"),
        "{sample}"
    );
    assert_formatted(&sandbox);
}

#[test]
fn an_image_is_formatted_however_long_its_names_are() {
    let kind = "K".repeat(59);
    let image = format!(
        "registry.example.com:5000/{}/{}:1",
        "a".repeat(90),
        "b".repeat(90)
    );
    let word = format!("--image-command=say \"it\",{},c\\d", "w".repeat(120));
    for project in ["--multigroup", "--namespaced"] {
        let sandbox = Sandbox::new();
        let init = format!("init --domain example.com --project-name long {project}");
        sandbox.kbr(&init).success();
        for port in [&[][..], &["--image-port", "80"]] {
            let args = [
                "create", "api", "--kind", &kind, "--image", &image, &word, "--force",
            ];
            sandbox.run(&[&args[..], port].concat()).success();
            assert_formatted(&sandbox);
        }
    }
}

#[test]
fn an_image_can_be_changed_and_is_remembered() {
    let sandbox = Sandbox::with_project();
    sandbox
        .kbr("create api --kind Foo --image a:1 --image-port 80")
        .success();
    let first = sandbox.tree();
    sandbox.write("src/controller/foo_controller/status.rs", "edited\n");

    sandbox.kbr("create api --kind Foo --force").success();
    assert_same(&first, &sandbox.tree());

    sandbox
        .kbr("create api --kind Foo --force --image b:2")
        .success();
    let types = sandbox.read("api/src/v1alpha1/foo_types.rs");
    assert!(types.contains("const IMAGE: &str = \"b:2\";"), "{types}");
    let children = sandbox.read("src/controller/foo_controller/children.rs");
    assert!(!children.contains("PORT"), "{children}");

    sandbox.kbr("delete controller --kind Foo").success();
    sandbox
        .kbr("create api --kind Foo --resource=false")
        .success();
    assert_eq!(
        sandbox.read("src/controller/foo_controller/children.rs"),
        children
    );

    sandbox.kbr("delete api --kind Foo").success();
    let empty = Sandbox::with_project();
    assert_same(&empty.tree(), &sandbox.tree());
}
