//! `make uninstall` and `make undeploy`: objects are deleted first, and nothing waits forever.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::thread;

use serde_json::{Value, json};

use super::deploy::deploy;
use super::project::{Project, project};
use super::{CRD, DEPLOYMENT, IMAGE};
use crate::support::running::Ended;
use crate::support::{Sandbox, copy};

/// A CronJob with a finalizer that nobody removes.
const OBJECT: &str = "cronjobs.batch.tutorial.kubebuilder.io/kept";
const FINALIZER: &str = "example.com/never-removed";
/// The line of the output that lists it.
const NAMED: &str = "CronJob default kept [example.com/never-removed]";

/// Its finalizer is removed when the test ends, even if it fails.
struct Kept<'a>(&'a Project);

impl<'a> Kept<'a> {
    fn create(project: &'a Project) -> Self {
        let established = "{.status.conditions[?(@.type==\"Established\")].status}=True";
        let established = format!("wait {CRD} --for=jsonpath={established}");
        project.kubectl(&established).success();
        let object = cron_job("kept", &[FINALIZER]);
        apply(project, &object);
        Self(project)
    }

    fn remove_finalizer(&self) {
        let patch = json!({ "metadata": { "finalizers": null } });
        let patch = format!("patch {OBJECT} --type=merge --patch={patch}");
        self.0.kubectl(&patch).success();
    }
}

impl Drop for Kept<'_> {
    fn drop(&mut self) {
        if self.0.kubectl(&format!("get {OBJECT}")).code() == Some(0) {
            self.remove_finalizer();
        }
    }
}

fn cron_job(name: &str, finalizers: &[&str]) -> Value {
    json!({
        "apiVersion": "batch.tutorial.kubebuilder.io/v1",
        "kind": "CronJob",
        "metadata": { "name": name, "namespace": "default", "finalizers": finalizers },
        "spec": {},
    })
}

pub fn apply(project: &Project, object: &Value) {
    let file = project.folder.join("target/object.json");
    fs::write(&file, object.to_string()).expect("a file");
    let apply = format!("apply --server-side -f {}", file.display());
    project.kubectl(&apply).success();
}

/// Asserts that the command failed in time, and listed what is left.
#[track_caller]
fn lists_what_is_left(ended: &Ended) {
    assert_eq!(ended.status.code(), Some(2), "{}", ended.stderr);
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let is_listed = ended.stderr.lines().any(|line| words(line) == NAMED);
    assert!(is_listed, "{}", ended.stderr);
    assert!(ended.stderr.contains("Nothing else has been deleted."));
}

#[test]
fn uninstall_lists_an_object_that_stays_and_keeps_its_crd() {
    let (project, _alone) = project();
    let before = project.inventory();
    project.make("install").success();
    let kept = Kept::create(project);
    apply(project, &cron_job("free", &[]));
    let of_another = of_another_operator(project);

    let uninstall = project.make("uninstall DELETE_TIMEOUT=2s");

    lists_what_is_left(&uninstall);
    project.kubectl(&format!("get {CRD}")).success();
    let left = project.kubectl("get cronjobs.batch.tutorial.kubebuilder.io -o name");
    let left = left.success().stdout;
    assert_eq!(left, "cronjob.batch.tutorial.kubebuilder.io/kept\n");

    // The command in the message works as it is, except for the object's name.
    let line = uninstall.stderr.lines();
    let mut line = line.skip_while(|line| !line.contains(" patch "));
    let patch = line.next().expect("a command").trim();
    let resource = line.next().expect("its resources");
    let resource = resource.rsplit(' ').next().expect("a word");
    let (_kubectl, patch) = patch.split_once(' ').expect("kubectl");
    let patch = patch
        .replace("RESOURCE", resource)
        .replace("NAMESPACE", "default")
        .replace("NAME", "kept")
        .replace('\'', "");
    project.kubectl(&patch).success();
    drop(kept);
    project.make("uninstall").success();

    assert_eq!(project.kubectl(&format!("get {CRD}")).code(), Some(1));
    project.kubectl(&format!("get {of_another}")).success();
    project
        .kubectl("delete crd widgets.other.example.com")
        .success();
    assert_eq!(project.inventory(), before);
}

/// Creates a CRD and an object of it, which no target may touch.
fn of_another_operator(project: &Project) -> &'static str {
    let schema = json!({ "openAPIV3Schema": { "type": "object" } });
    let version = json!({ "name": "v1", "served": true, "storage": true, "schema": schema });
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": "widgets.other.example.com" },
        "spec": {
            "group": "other.example.com",
            "names": { "kind": "Widget", "plural": "widgets" },
            "scope": "Cluster",
            "versions": [version],
        },
    });
    apply(project, &crd);
    let wait = "wait --for=condition=Established crd/widgets.other.example.com";
    project.kubectl(wait).success();
    apply(
        project,
        &json!({
            "apiVersion": "other.example.com/v1",
            "kind": "Widget",
            "metadata": { "name": "theirs" },
        }),
    );
    "widgets.other.example.com/theirs"
}

#[test]
fn undeploy_keeps_the_manager_until_finalizers_are_removed() {
    let (project, _alone) = project();
    let before = project.inventory();
    deploy(project, IMAGE).success();
    let kept = Kept::create(project);
    let all = project.inventory();

    lists_what_is_left(&project.make("undeploy DELETE_TIMEOUT=2s"));

    assert_eq!(project.inventory(), all, "nothing is deleted");

    let undeploy = thread::scope(|scope| {
        // As a manager does after its cleanup.
        scope.spawn(|| {
            let is_deleted = "{.metadata.deletionTimestamp}";
            let wait = format!("wait {OBJECT} --for=jsonpath={is_deleted} --timeout=60s");
            project.kubectl(&wait).success();
            project.kubectl(&format!("get {DEPLOYMENT}")).success();
            kept.remove_finalizer();
        });
        project.make("undeploy")
    });

    undeploy.success();
    assert_eq!(project.inventory(), before);
}

#[test]
fn undeploy_deletes_no_object_of_a_crd_that_is_not_in_config_default() {
    let (project, _alone) = project();
    project.make("install").success();
    apply(project, &cron_job("free", &[]));
    let without_kinds = Sandbox::with_project();
    let elsewhere = Sandbox::new();
    copy(&project.folder.join("config"), &at(&elsewhere, "config"));
    copy(&project.folder.join("hack"), &at(&elsewhere, "hack"));
    let makefile = project.folder.join("Makefile");
    fs::copy(makefile, at(&elsewhere, "Makefile")).expect("a copy");
    elsewhere.edit("config/default/kustomization.yaml", "- ../crd\n", "");

    for folder in [&without_kinds, &elsewhere] {
        fs::create_dir(at(folder, "target")).expect("a folder");
        let project = Project {
            folder: folder.path().to_owned(),
            kubeconfig: project.kubeconfig.clone(),
        };
        project.make("undeploy ignore-not-found=true").success();
        let free = "get cronjobs.batch.tutorial.kubebuilder.io/free";
        project.kubectl(free).success();
    }
    project.make("uninstall").success();
}

fn at(sandbox: &Sandbox, path: &str) -> PathBuf {
    sandbox.path().join(path)
}

/// Nothing serves its conversion webhook: the manager has never run.
#[test]
fn uninstall_needs_no_manager_to_delete_objects_of_several_versions() {
    let (project, _alone) = project();
    let project = project.with_webhooks("scaffold");
    let before = project.inventory();
    project
        .kubectl("apply --server-side -k config/crd")
        .success();
    let kept = Kept::create(&project);

    lists_what_is_left(&project.make("uninstall DELETE_TIMEOUT=2s"));

    let patch = json!({ "metadata": { "finalizers": null } });
    let stored = "cronjobs.v1.batch.tutorial.kubebuilder.io/kept";
    let patch = format!("patch {stored} --type=merge --patch={patch}");
    project.kubectl(&patch).success();
    drop(kept);
    project.make("uninstall").success();
    assert_eq!(project.inventory(), before);
}

#[test]
fn uninstall_reports_what_the_api_server_refuses() {
    let (project, _alone) = project();
    project.make("install").success();
    apply(project, &cron_job("free", &[]));
    let role = "create clusterrole reader --verb=get --resource=customresourcedefinitions";
    project.kubectl(role).success();
    let bind = "create clusterrolebinding reader --clusterrole=reader --user=reader";
    project.kubectl(bind).success();

    let uninstall = project.make_as("reader", "uninstall");

    project
        .kubectl("delete clusterrole,clusterrolebinding reader")
        .success();
    assert_eq!(uninstall.status.code(), Some(2), "{}", uninstall.stderr);
    let said = "User \"reader\" cannot list resource \"cronjobs\"";
    assert!(uninstall.stderr.contains(said), "{}", uninstall.stderr);
    project.kubectl(&format!("get {CRD}")).success();
    project.make("uninstall").success();
}

#[test]
fn uninstall_gives_up_on_an_api_server_that_does_not_respond() {
    let sandbox = Sandbox::new();
    let golden = Path::new(crate::support::REPOSITORY).join("testdata/scaffold");
    for folder in ["config", "hack"] {
        copy(&golden.join(folder), &at(&sandbox, folder));
    }
    fs::copy(golden.join("Makefile"), at(&sandbox, "Makefile")).expect("a copy");
    fs::create_dir(at(&sandbox, "target")).expect("a folder");
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = silent.local_addr().expect("an address").port();
    let cluster =
        json!({ "name": "silent", "cluster": { "server": format!("https://127.0.0.1:{port}") } });
    let context =
        json!({ "name": "silent", "context": { "cluster": "silent", "user": "somebody" } });
    let user = json!({ "name": "somebody", "user": { "token": "token" } });
    let kubeconfig = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [cluster],
        "contexts": [context],
        "users": [user],
        "current-context": "silent",
    });
    sandbox.write("kubeconfig", &kubeconfig.to_string());
    let project = Project {
        folder: sandbox.path().to_owned(),
        kubeconfig: at(&sandbox, "kubeconfig"),
    };

    let uninstall = project.make("uninstall");

    assert_eq!(uninstall.status.code(), Some(2), "{}", uninstall.stderr);
    let said = "Unable to connect to the server";
    assert!(uninstall.stderr.contains(said), "{}", uninstall.stderr);
}
