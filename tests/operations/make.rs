//! The Makefile of an emitted project, on a real API server.
//!
//! Every target that uses a cluster or starts one is run as a user types it. The cluster runs no pods:
//! the test starts the operator itself, with the ServiceAccount of the Deployment.

mod deploy;
mod objects;
mod project;

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::running::{Ended, Running, processes_with};
use crate::support::{Run, Sandbox, assert_same};
use deploy::deploy;
use project::{Project, project};

const CRD: &str = "customresourcedefinition/cronjobs.batch.tutorial.kubebuilder.io";
const SAMPLE: &str = "cronjobs.batch.tutorial.kubebuilder.io/cronjob-sample";
const DEPLOYMENT: &str = "--namespace=made-system deployment/made-controller-manager";
const IMAGE: &str = "example.com/made:v1";

/// The only test of `make test-rbac`.
const PROOF: &str = "the_manager_may_do_nothing_that_no_test_needs";

const SIGINT: i32 = 2;
const SIGTERM: i32 = 15;

#[test]
fn kubebuilders_other_targets_exist_or_name_a_replacement() {
    let sandbox = Sandbox::with_project();
    let make = |line: &str| -> Run {
        let mut make = Command::new("make");
        make.args(line.split(' ')).current_dir(sandbox.path());
        make.output().expect("make runs").into()
    };
    let recipe = |target: &str| make(&format!("--dry-run {target}")).success().stdout;
    for (theirs, ours) in [("generate", "manifests"), ("setup-envtest", "envtest")] {
        assert_eq!(recipe(theirs), recipe(ours));
    }
    assert_eq!(
        recipe("lint"),
        recipe("vet") + "cargo fmt --all --check\n",
        "it changes nothing"
    );
    let help = make("help").success().stdout;
    assert!(help.contains("  lint "), "{help}");
}

#[test]
fn install_applies_the_crds_and_uninstall_deletes_them() {
    let (project, _alone) = project();
    let before = project.inventory();

    project.make("install").success();

    assert_eq!(
        added(project, &before),
        ["CustomResourceDefinition <none> cronjobs.batch.tutorial.kubebuilder.io"]
    );
    // `--for=condition` fails if there are no conditions yet.
    let established = "{.status.conditions[?(@.type==\"Established\")].status}=True";
    let established = project.kubectl(&format!("wait {CRD} --for=jsonpath={established}"));
    established.success();
    let managers = "jsonpath={.metadata.managedFields[?(@.operation==\"Apply\")].manager}";
    let managers = project.kubectl(&format!("get {CRD} --show-managed-fields -o {managers}"));
    assert_eq!(managers.success().stdout, "kubectl");

    project.make("uninstall").success();

    assert_eq!(project.inventory(), before);
    finds_nothing(project.make("uninstall"));
    project.make("uninstall ignore-not-found=true").success();
}

#[test]
fn deploy_applies_config_default_and_its_account_can_do_the_operators_work() {
    let (project, _alone) = project();
    let (before, files) = (project.inventory(), project.files());

    let deployed_first = deploy(project, IMAGE).success();

    let wanted = project.kubectl("kustomize config/default").success().stdout;
    assert_eq!(added(project, &before), names(&wanted));
    assert_eq!(deployed(project), format!("2 {IMAGE}"));
    assert_same(&files, &project.files());
    // There is a warning for each Deployment whose pods the namespace would refuse.
    let warned = deployed_first.stderr;
    assert!(!warned.contains("Warning"), "{warned}");
    let as_root = wanted.replace("runAsNonRoot: true", "runAsNonRoot: false");
    fs::write(project.folder.join("dist/as-root.yaml"), as_root).expect("a file");
    let as_root = project.kubectl("apply --dry-run=server -f dist/as-root.yaml");
    assert!(as_root.stderr.contains("would violate PodSecurity"));

    let account = kubeconfig_of(project, "made-system", "made-controller-manager");
    let can_i = project.kubectl_as(&account, "auth can-i delete namespaces");
    assert!(can_i.stdout.starts_with("no"), "{}", can_i.stdout);
    let operator = project.start_operator(&account);
    reconciles_the_sample(project, &project.kubeconfig);
    let log = operator.terminate().success().stderr;
    assert!(log.contains("status written"), "{log}");
    assert!(!log.to_lowercase().contains("forbidden"), "{log}");

    // An update of a Deployment that somebody has changed.
    let set = format!("set image {DEPLOYMENT} manager=example.com/other:v1");
    project.kubectl(&set).success();
    deploy(project, "example.com/made:v2").success();
    assert_eq!(deployed(project), "2 example.com/made:v2");

    project.make("undeploy").success();

    assert_eq!(project.inventory(), before);
    finds_nothing(project.make("undeploy"));
    project.make("undeploy ignore-not-found=true").success();
}

#[test]
fn the_installer_can_be_applied_with_kubectl_alone() {
    let (project, _alone) = project();
    let before = project.inventory();

    project
        .make(&format!("build-installer IMG={IMAGE}"))
        .success();

    let apply = project.kubectl("apply -f dist/install.yaml").success();
    assert!(!apply.stderr.contains("Warning"), "{}", apply.stderr);
    let installer = fs::read_to_string(project.folder.join("dist/install.yaml"));
    assert_eq!(added(project, &before), names(&installer.expect("a file")));
    project
        .kubectl("delete --timeout=120s -f dist/install.yaml")
        .success();
    assert_eq!(project.inventory(), before);
}

/// As `kustomize edit set image controller=…` writes it.
#[test]
fn an_image_that_kustomize_sets_is_deployed() {
    let (project, _alone) = project();
    let path = project.folder.join("config/manager/kustomization.yaml");
    let before = fs::read_to_string(&path).expect("a file");
    let images = "images:\n- name: controller\n  newName: example.com/set\n  newTag: v3\n";
    fs::write(&path, format!("{before}{images}")).expect("a file");

    let built = project.make("build-installer");
    let installer = fs::read_to_string(project.folder.join("dist/install.yaml"));
    let both = project.make(&format!("build-installer IMG={IMAGE}"));

    fs::write(&path, before).expect("a file");
    built.success();
    assert!(
        installer
            .expect("a file")
            .contains("image: example.com/set:v3\n")
    );
    assert!(!both.status.success());
    let error = both.stderr;
    assert!(
        error.contains("leave out IMG, or remove that image"),
        "{error}"
    );
}

#[test]
fn run_serves_the_cluster_of_the_kubeconfig_until_it_is_stopped() {
    let (project, _alone) = project();
    project.make("install").success();
    for (stop, signal) in [
        (Running::terminate as fn(Running) -> Ended, SIGTERM),
        (Running::interrupt, SIGINT),
    ] {
        let mut make = project.start_make("run ARGS=--health-probe-bind-address=127.0.0.1:0");
        let address = make.wait_for("address", |make| address_of_probes(&make.stderr()));
        make.wait_for("readiness", |_| is_ready(&address).then_some(()));
        reconciles_the_sample(project, &project.kubeconfig);

        let ended = stop(make);

        assert_ended(&ended, signal);
        assert!(!is_ready(&address));
    }
    project.make("uninstall").success();
}

#[test]
fn run_local_needs_no_cluster_and_leaves_nothing_after_ctrl_c() {
    run_local(Running::interrupt, SIGINT);
}

#[test]
fn run_local_needs_no_cluster_and_leaves_nothing_after_sigterm() {
    run_local(Running::terminate, SIGTERM);
}

fn run_local(stop: fn(Running) -> Ended, signal: i32) {
    let (project, _alone) = project();
    let (make, kubeconfig) = start_run_local(project);
    let folder = kubeconfig.parent().expect("a folder").display().to_string();
    assert_ne!(kubeconfig, project.kubeconfig);
    reconciles_the_sample(project, &kubeconfig);
    runs_a_deployment(project, &kubeconfig);
    assert!(!processes_with(&folder).is_empty());

    let ended = stop(make);

    assert_ended(&ended, signal);
    assert_eq!(processes_with(&folder), Vec::<String>::new());
}

/// Kubernetes' own controllers create its pods, and the kubelet is simulated.
fn runs_a_deployment(project: &Project, kubeconfig: &Path) {
    let kubectl = |line: &str| project.kubectl_as(kubeconfig, line).success().stdout;
    kubectl("create deployment web --image=example.com/web --replicas=3");
    kubectl("wait deployment/web --for=condition=Available --timeout=120s");
    let ready = "--for=jsonpath={.status.readyReplicas}=3";
    kubectl(&format!("wait deployment/web {ready} --timeout=120s"));
    let shown = kubectl("get deployment web --no-headers");
    let shown: Vec<_> = shown.split_whitespace().take(2).collect();
    assert_eq!(shown, ["web", "3/3"]);
}

fn start_run_local(project: &Project) -> (Running, PathBuf) {
    let mut make = project.start_make("run-local ARGS=--health-probe-bind-address=0");
    let kubeconfig = make.wait_for("kubeconfig", |make| {
        let stdout = make.stdout();
        let mut lines = stdout.split_inclusive('\n');
        lines.find_map(|line| {
            let path = line.strip_prefix("KUBECONFIG=")?.strip_suffix('\n')?;
            Some(path.into())
        })
    });
    (make, kubeconfig)
}

#[test]
fn run_local_serves_webhooks_without_cert_manager() {
    let (project, _alone) = project();
    let project = project.with_webhooks("scaffold");
    let (mut make, kubeconfig) = start_run_local(&project);
    let kubectl = |line: &str| project.kubectl_as(&kubeconfig, line);

    // Until the operator listens, the API server refuses the samples, since it cannot call the webhooks.
    make.wait_for("webhooks", |_| {
        (kubectl("apply -k config/samples").code() == Some(0)).then_some(())
    });

    // The conversion is a webhook too.
    let kind = "cronjobs.v2.batch.tutorial.kubebuilder.io";
    let get = format!("get {kind} cronjob-sample -o jsonpath={{.spec.foo}}");
    assert_eq!(kubectl(&get).success().stdout, "bar");
    make.terminate();
}

#[test]
fn run_leaves_webhooks_off_and_says_so() {
    let (project, _alone) = project();
    let project = project.with_webhooks("scaffold");

    let mut make = project.start_make("run ARGS=--health-probe-bind-address=0");

    make.wait_for("message about webhooks", |make| {
        let log = make.stderr();
        let is_said = log.contains("Webhooks are off: a cluster cannot call this machine");
        let is_true = log.contains("webhooks are off: ENABLE_WEBHOOKS is false");
        (is_said && is_true).then_some(())
    });
    make.terminate();
}

#[test]
fn make_test_passes_and_runs_the_integration_tests() {
    let (project, _alone) = project();
    let files = project.files();

    let test = project.make_with_installed_binaries("test").success();

    for name in [
        "cronjob_controller::a_new_object_is_reconciled",
        "manifests::the_api_server_accepts_the_deployment",
        "samples::the_api_server_accepts_every_sample",
    ] {
        let line = format!("test {name} ... ok\n");
        assert!(test.stdout.contains(&line), "{line}\n{}", test.stdout);
    }
    assert!(!test.stdout.contains(PROOF), "{}", test.stdout);
    assert_same(&files, &project.files());
}

#[test]
fn make_test_rbac_proves_the_roles_and_shows_each_grant() {
    let (project, _alone) = project();
    let files = project.files();

    let proof = project.make_with_installed_binaries("test-rbac").success();

    let line = format!("test {PROOF} ... ok\n");
    assert!(proof.stdout.contains(&line), "{}", proof.stdout);
    let batch = "groups=batch.tutorial.kubebuilder.io,resources=";
    let events = "groups=events.k8s.io,resources=events";
    let leases = "groups=coordination.k8s.io,resources=leases";
    let lease = format!("{leases},resourceNames=made-controller-manager");
    let grants = [
        (format!("{batch}cronjobs"), "cronjobs", "list"),
        (format!("{batch}cronjobs"), "cronjobs", "watch"),
        (
            format!("{batch}cronjobs/status"),
            "cronjobs/status",
            "patch",
        ),
        (events.to_owned(), "events", "create"),
        (events.to_owned(), "events", "patch"),
        (leases.to_owned(), "leases", "create"),
        (lease.clone(), "leases", "get"),
        (lease.clone(), "leases", "update"),
        (lease, "leases", "watch"),
        (
            "groups=authentication.k8s.io,resources=tokenreviews".to_owned(),
            "tokenreviews",
            "create",
        ),
        (
            "groups=authorization.k8s.io,resources=subjectaccessreviews".to_owned(),
            "subjectaccessreviews",
            "create",
        ),
    ];
    for (rule, resource, verb) in &grants {
        let marker = format!("/{}] // +kbr:rbac:{rule},verbs={verb}: ", grants.len());
        let refusal = format!(" cannot {verb} resource \"{resource}\" in API group ");
        let mut lines = proof.stderr.lines();
        let is_shown = lines.any(|line| line.contains(&marker) && line.contains(&refusal));
        assert!(is_shown, "{marker}\n{}", proof.stderr);
    }
    assert_same(&files, &project.files());
}

#[test]
fn make_test_crash_tries_each_request_of_a_fresh_scaffold() {
    let (project, _alone) = project();
    let files = project.files();

    let proof = project.make_with_installed_binaries("test-crash").success();

    let moment = "patch cronjobs.batch.tutorial.kubebuilder.io/status cronjob-sample";
    for fault in [
        "answer lost",
        "dies before",
        "dies after",
        "409",
        "500",
        "429",
        "caches lag",
        "new leader",
        "written before",
    ] {
        let line = format!("] batch_v1_cronjob: {moment}: {fault}: the same, ");
        assert!(proof.stderr.contains(&line), "{line}\n{}", proof.stderr);
    }
    let change = "batch_v1_cronjob: it is changed, ";
    assert!(proof.stderr.contains(change), "{}", proof.stderr);
    assert_same(&files, &project.files());
}

#[test]
fn make_test_crash_refuses_flags_that_it_does_not_have() {
    let (project, _alone) = project();

    let refused = project.make_with_installed_binaries("test-crash CRASH_FLAGS=--seeds=3");

    assert!(!refused.status.success(), "{}", refused.stderr);
    let message = "there is no option `--seeds`: type `--only TEXT`, ";
    assert!(refused.stderr.contains(message), "{}", refused.stderr);
}

/// Asserts that the signal ended make after its program ended successfully; otherwise make prints `Error`.
///
/// If SIGINT is ignored, as in the background of a script, make ignores it too.
#[track_caller]
fn assert_ended(ended: &Ended, signal: i32) {
    let (status, stderr) = (ended.status, &ended.stderr);
    let is_ignored = signal == SIGINT && status.success();
    let is_expected = is_ignored || status.signal() == Some(signal);
    assert!(is_expected, "{status}\n{stderr}");
    assert!(!stderr.contains("] Error "), "{stderr}");
}

/// Applies the sample, waits until the operator has reconciled it, and deletes it again.
#[track_caller]
fn reconciles_the_sample(project: &Project, kubeconfig: &Path) {
    let kubectl = |line: &str| project.kubectl_as(kubeconfig, line).success();
    kubectl("apply -k config/samples");
    kubectl(&format!(
        "wait {SAMPLE} --for=jsonpath={{.status.conditions[0].reason}}=NotImplemented --timeout=60s"
    ));
    kubectl("delete -k config/samples");
}

/// The objects that the cluster did not have before.
fn added(project: &Project, before: &BTreeSet<String>) -> Vec<String> {
    let now = project.inventory();
    now.difference(before).cloned().collect()
}

/// The replicas and the image of the Deployment.
fn deployed(project: &Project) -> String {
    let columns = "R:.spec.replicas,I:.spec.template.spec.containers[*].image";
    let line = format!("get {DEPLOYMENT} --no-headers --output=custom-columns={columns}");
    let row = project.kubectl(&line).success().stdout;
    row.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The objects of a file of manifests, in the format of the inventory.
fn names(yaml: &str) -> Vec<String> {
    let documents: Vec<serde_json::Value> = serde_saphyr::from_multiple(yaml).expect("YAML");
    let text = |value: &serde_json::Value| value.as_str().unwrap_or("<none>").to_owned();
    let name = |document: &serde_json::Value| {
        let metadata = &document["metadata"];
        let words = [&document["kind"], &metadata["namespace"], &metadata["name"]];
        words.map(text).join(" ")
    };
    let names: BTreeSet<String> = documents.iter().map(name).collect();
    names.into_iter().collect()
}

/// A kubeconfig for that ServiceAccount.
fn kubeconfig_of(project: &Project, namespace: &str, account: &str) -> PathBuf {
    let token = project.kubectl(&format!("-n {namespace} create token {account}"));
    let token = token.success().stdout;
    let path = project.folder.join("target/account.kubeconfig");
    fs::copy(&project.kubeconfig, &path).expect("a copy");
    let set = format!("config set-credentials account --token={}", token.trim());
    project.kubectl_as(&path, &set).success();
    let set = "config set-context --current --user=account";
    project.kubectl_as(&path, set).success();
    let user = "auth whoami -o jsonpath={.status.userInfo.username}";
    let user = project.kubectl_as(&path, user).success().stdout;
    assert_eq!(user, format!("system:serviceaccount:{namespace}:{account}"));
    path
}

/// The address of the operator's probes, from its log.
fn address_of_probes(log: &str) -> Option<String> {
    let line = log
        .lines()
        .find(|line| line.contains("serving health probes"))?;
    let line: serde_json::Value = serde_json::from_str(line).ok()?;
    line["address"].as_str().map(str::to_owned)
}

/// Whether the operator with the probes at that address reports that it is ready.
fn is_ready(address: &str) -> bool {
    let ask = || {
        let mut stream = TcpStream::connect(address)?;
        stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok::<_, std::io::Error>(answer.starts_with("HTTP/1.1 200"))
    };
    ask().unwrap_or(false)
}

/// Asserts that make has its own exit code for a failed target, since the objects to delete do not exist.
#[track_caller]
fn finds_nothing(make: Ended) {
    assert_eq!(make.status.code(), Some(2), "{}", make.stderr);
    let said = "is in the cluster of the current kubeconfig\n";
    assert!(make.stderr.contains(said), "{}", make.stderr);
}
