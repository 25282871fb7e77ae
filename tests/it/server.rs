//! kbr and a real API server agree about types: the API server accepts what kbr emits, and would refuse what
//! kbr refuses.
//!
//! No project is compiled: a script instead of cargo prints what crdgen would print for the types below.

use crate::support::cluster::Cluster;
use crate::support::crdgen::{Project, described};
use crate::support::running::processes_with;
use crate::support::types::{fine, refused, refused_entries};
use crate::support::{Sandbox, assets};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn an_emitted_crd_is_accepted_without_a_warning() {
    let project = Project::of(&[described::<fine::Fine>()]);
    project.0.write("api/src/v1/mode.rs", fine::MODE);
    let run = project.kbr("manifests").success();
    let alias = "api/src/v1/mode.rs:3: the API server does not know the alias `Old`";
    assert!(run.stderr.contains(alias), "{}", run.stderr);
    assert!(
        run.stderr.contains(
            "in `Fine`, `spec.mayBeNull` may be null: where null means the same as omitting the field, \
             write `#[serde(skip_serializing_if = \"Option::is_none\")]` on it\n"
        ),
        "{}",
        run.stderr
    );
    let again = project.kbr("manifests").success();
    assert!(
        !again.stderr.contains("may be null"),
        "it is reported once: {}",
        again.stderr
    );

    let crd = project.crd("fines");
    let spec = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
    assert_eq!(
        spec["x-kubernetes-validations"],
        json!([{
            "fieldPath": ".replicas",
            "message": "replicas never shrink",
            "optionalOldSelf": true,
            "reason": "FieldValueForbidden",
            "rule": "oldSelf.optMap(old, self.replicas >= old.replicas).orValue(true)",
        }])
    );
    let field = |name: &str| &spec["properties"][name];
    assert_eq!(field("set")["x-kubernetes-list-type"], "set");
    assert_eq!(
        field("ports")["x-kubernetes-list-map-keys"],
        json!(["name"])
    );
    assert_eq!(field("whole")["x-kubernetes-map-type"], "atomic");
    assert_eq!(field("labels")["x-kubernetes-map-type"], "granular");
    assert_eq!(field("left").get("nullable"), None);
    assert_eq!(field("host")["description"], "How it is called");
    assert_eq!(field("left")["enum"], json!(["Slow", "Fast", "Other"]));
    let tree = &field("tree")["items"];
    let anything = json!({ "x-kubernetes-preserve-unknown-fields": true });
    assert_eq!(
        (&tree["properties"]["left"], &tree["required"]),
        (&anything, &json!(["name"]))
    );
    assert_eq!(
        spec["required"],
        json!(["replicas"]),
        "fields with a default may be omitted"
    );

    let cluster = Cluster::start();
    let applied = cluster.kubectl(&["create", "-f", "-"], &crd.to_string());
    assert_eq!((applied.code(), applied.stderr.as_str()), (Some(0), ""));
    cluster
        .kubectl(
            &[
                "wait",
                "--for=condition=Established",
                "crd/fines.example.com",
            ],
            "",
        )
        .success();
    let object = |spec: Value| json!({ "apiVersion": "example.com/v1", "kind": "Fine", "metadata": { "name": "one" }, "spec": spec });
    let twice = object(json!({ "replicas": 1, "set": ["a", "a"] }));
    let create = |object: &Value| cluster.kubectl(&["create", "-f", "-"], &object.to_string());
    assert!(
        create(&twice)
            .failure()
            .stderr
            .contains("Duplicate value: \"a\"")
    );
    create(&object(
        json!({ "replicas": 2, "set": ["a", "b"], "mayBeNull": null }),
    ))
    .success();
    let smaller = cluster.kubectl(
        &[
            "patch",
            "fine",
            "one",
            "--type=merge",
            "--patch={\"spec\": {\"replicas\": 1}}",
        ],
        "",
    );
    let said = smaller.failure().stderr;
    assert!(
        said.contains("spec.replicas: Forbidden: replicas never shrink"),
        "{said}"
    );

    for (crd, _) in refused() {
        let name = crd["spec"]["names"]["kind"]
            .as_str()
            .expect("a kind")
            .to_owned();
        let refused = cluster.kubectl(&["create", "-f", "-"], &crd.to_string());
        assert_eq!(refused.code(), Some(1), "the API server accepts {name}");
        assert!(
            refused.stderr.contains("is invalid"),
            "{name}: {}",
            refused.stderr
        );
    }
}

#[test]
fn what_the_api_server_would_refuse_is_refused_first() {
    let all = refused_entries();
    let project = Project::of(&all);
    let stderr = project.kbr("manifests").failure().stderr;
    for (_, expected) in refused() {
        assert!(stderr.contains(expected), "{expected}\n{stderr}");
    }
    assert!(!project.0.path().join("config/crd/bases").exists());
}

#[test]
fn a_type_that_overflows_the_stack_is_reported() {
    let project = Project::of(&[described::<fine::Fine>()]);
    project.0.write("bin/cargo", "#!/bin/sh\nkill -ABRT $$\n");
    let crashed = project.kbr("manifests").failure().stderr;
    assert!(crashed.contains("was killed by a signal"), "{crashed}");
    let tree = "#[derive(KubeSchema)]\npub struct Tree { pub children: Vec<Tree> }\n";
    project.0.write("api/src/v1/tree.rs", tree);
    let named = project.kbr("manifests").failure().stderr;
    let expected =
        "error: kube cannot describe a type that contains itself: `Tree` in api/src/v1/tree.rs:2\n";
    assert!(named.contains(expected), "{named}");
}

#[test]
fn kbr_rewrites_crdgen() {
    let crdgen = "api/src/bin/crdgen.rs";
    let project = Project::of(&[described::<fine::Fine>()]);
    let written = project.0.read(crdgen);
    project.kbr("manifests").success();
    fs::remove_file(project.0.path().join(crdgen)).expect("the file is removed");
    let check = project.kbr("manifests --check").failure().stderr;
    let expected = format!("error: 1 of the generated files is out of date: `{crdgen}`\n");
    assert!(check.contains(&expected), "{check}");
    assert!(!project.0.path().join(crdgen).exists());

    let warning = format!("Warning `{crdgen}` did not match PROJECT: kbr rewrites it");
    for text in [None, Some(written.replace("v1::Fine", "v1::Gone"))] {
        if let Some(text) = text {
            project.0.write(crdgen, &text);
        }
        let run = project.kbr("manifests").success();
        assert!(run.stderr.contains(&warning), "{}", run.stderr);
        assert_eq!(project.0.read(crdgen), written);
        project.kbr("manifests --check").success();
    }
}

/// The tests of another process are interrupted, as with Ctrl-C on a terminal, in a folder whose name has a space.
#[test]
fn an_interrupted_test_leaves_no_process() {
    let folder = Sandbox::new();
    let folder = folder.path().join("with a space");
    fs::create_dir(&folder).expect("a folder");
    let running = || processes_with(&folder.display().to_string());
    for server in ["etcd", "kube-apiserver"] {
        let mut tests = Command::new(std::env::current_exe().expect("this program"));
        tests.args([
            "--exact",
            "server::an_emitted_crd_is_accepted_without_a_warning",
        ]);
        tests
            .env("TMPDIR", &folder)
            .env("KUBEBUILDER_ASSETS", assets());
        tests.stdout(Stdio::null()).stderr(Stdio::null());
        let mut tests = tests.process_group(0).spawn().expect("the tests start");
        let path = assets().join(server).display().to_string();
        while !running().iter().any(|line| line.starts_with(&path)) {
            let ended = tests.try_wait().expect("a process");
            assert_eq!(ended, None, "no {server} was started");
            thread::sleep(Duration::from_millis(20));
        }
        let mut kill = Command::new("kill");
        kill.args(["-INT", "--", &format!("-{}", tests.id())]);
        assert!(kill.status().expect("kill runs").success());
        tests.wait().expect("it ends");
        let start = Instant::now();
        while !running().is_empty() {
            assert!(start.elapsed() < Duration::from_secs(60), "{:?}", running());
            thread::sleep(Duration::from_millis(20));
        }
    }
}
