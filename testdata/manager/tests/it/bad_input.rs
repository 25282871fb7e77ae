// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! What can be wrong before the first test: each error says what to do or where to look.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use kbr_testing::{TestEnv, TestEnvError};

use crate::api_server::mortal;
use crate::env;
use crate::orphans::run_local;

const ALLOW_OLDER: &str = "KBR_ALLOW_OLDER_KUBERNETES";

/// Runs `run-local` until it exits and returns what it writes to standard error.
#[track_caller]
fn refused(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(output.stdout.is_empty());
    text
}

/// The folder of the binaries.
fn installed() -> PathBuf {
    let kubectl = PathBuf::from(env().kubectl().get_program());
    kubectl.parent().unwrap().to_owned()
}

/// A folder with some of the binaries.
fn assets(name: &str, binaries: &[&str]) -> PathBuf {
    let assets = installed();
    // A folder that no other run of these tests uses.
    let folder = env().logs().join(name);
    fs::create_dir(&folder).unwrap();
    for binary in binaries {
        symlink(assets.join(binary), folder.join(binary)).unwrap();
    }
    folder
}

/// The version of the API server of these tests, such as 1.37.2.
fn version() -> String {
    let server = installed().join("kube-apiserver");
    let output = Command::new(server).arg("--version").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let version = text.trim_end().strip_prefix("Kubernetes v").unwrap();
    version.to_owned()
}

/// Its minor, which is also that of the types.
fn minor() -> String {
    let version = version();
    let (minor, _) = version.rsplit_once('.').unwrap();
    minor.to_owned()
}

#[test]
fn a_folder_that_lacks_a_binary() {
    let folder = assets("two-of-three", &["etcd", "kubectl"]);

    assert_eq!(
        refused(run_local().env("KUBEBUILDER_ASSETS", &folder)),
        format!(
            "error: `{}` has no kube-apiserver\n\
             Unset KUBEBUILDER_ASSETS, or run `kbr envtest use {minor}` and set it to what `kbr envtest path {minor}` prints\n",
            folder.display(),
            minor = minor()
        )
    );
}

/// The server is the real one; only the version that it reports is that of an older minor.
#[test]
fn an_api_server_older_than_the_types() {
    let folder = assets("old", &["etcd", "kubectl", "kube-controller-manager"]);
    let (new, binary) = (
        installed().join("kube-apiserver"),
        folder.join("kube-apiserver"),
    );
    let (minor, version) = (minor(), version());
    let number: u32 = minor["1.".len()..].parse().unwrap();
    let old = version.replacen(&minor, &format!("1.{}", number - 1), 1);
    assert_eq!(
        old.len(),
        version.len(),
        "the binary stays as long as it is"
    );
    // This process never opens the file: a process that another test starts meanwhile would inherit it and
    // keep it busy.
    let mut copy = Command::new("sh");
    copy.args([
        "-c",
        "LC_ALL=C sed \"$0\" \"$1\" >\"$2\" && chmod +x \"$2\"",
    ]);
    copy.arg(format!("s/v{version}/v{old}/g"))
        .args([&new, &binary]);
    assert!(copy.status().unwrap().success());

    let mut refusing = run_local();
    refusing.env_remove(ALLOW_OLDER);
    let error = refused(refusing.env("KUBEBUILDER_ASSETS", &folder));
    let mut allowing = Command::new(std::env::current_exe().unwrap());
    allowing.args(["--exact", "environment::each_namespace_is_new"]);
    let output = allowing
        .env("KUBEBUILDER_ASSETS", &folder)
        .env(ALLOW_OLDER, "true")
        .output()
        .unwrap();
    fs::remove_file(binary).unwrap();

    assert!(output.status.success(), "{output:?}");
    let expected = format!(
        "error: the API server of `{}` is v{old}, older than the types of Kubernetes {minor} in use; \
         its log: ",
        folder.display()
    );
    let rest = error.strip_prefix(&expected).expect(&error);
    let (log, advice) = rest.split_once('\n').unwrap();
    assert!(Path::new(log).exists(), "{log}");
    assert_eq!(
        advice,
        format!(
            "Run `kbr envtest use {minor}`, and unset KUBEBUILDER_ASSETS or set it to \
             `kbr envtest path {minor}`. To test on an older Kubernetes, set {ALLOW_OLDER}=true: fields that it \
             does not know are lost\n"
        )
    );
}

#[test]
fn a_folder_without_the_controller_manager_that_a_test_needs() {
    let folder = assets("without", &["etcd", "kube-apiserver", "kubectl"]);
    let mut this = Command::new(std::env::current_exe().unwrap());
    this.args(["--exact", "environment::each_namespace_is_new"]);

    let output = this.env("KUBEBUILDER_ASSETS", &folder).output().unwrap();

    assert_eq!(output.status.code(), Some(101));
    let text = String::from_utf8(output.stdout).unwrap();
    let expected = format!(
        "\n`{}` has no kube-controller-manager\n\
         Run `kbr envtest use {} --with-controller-manager`, and for `make test` and CI write \
         `ENVTEST_OPTIONS ?= --with-controller-manager` in the Makefile and \
         `CONTROLLER_MANAGER: \"true\"` in .github/workflows/test.yml\n",
        folder.display(),
        minor()
    );
    assert!(text.contains(&expected), "{text}");
}

#[test]
fn a_kubeconfig_for_an_operator_with_an_api_server_of_its_own() {
    assert_eq!(
        refused(run_local().args(["--kubeconfig", "elsewhere"])),
        "error: run-local has its own API server: leave out --kubeconfig\n"
    );
}

#[test]
fn neither_a_folder_nor_kbr() {
    let mut command = run_local();
    command.env_remove("KUBEBUILDER_ASSETS");

    assert_eq!(
        refused(command.env("KBR", "/does/not/exist")),
        format!(
            "error: could not run `/does/not/exist` to find the API server's binaries: No such file or directory (os error 2)\n\
             Put kbr on the PATH and run `kbr envtest use {}`, or set KUBEBUILDER_ASSETS\n",
            minor()
        )
    );
}

#[test]
fn the_error_of_kbr_about_a_missing_folder_is_passed_on() {
    // Any program that rejects these arguments will do.
    let fails = env!("CARGO_BIN_EXE_manager");
    let said = Command::new(fails)
        .args(["envtest", "path", &minor()])
        .output();
    let said = String::from_utf8(said.unwrap().stderr).unwrap();
    assert!(
        said.starts_with("error: unexpected argument 'envtest'"),
        "{said}"
    );
    let mut command = run_local();
    // An empty variable counts as not set.
    command.env("KUBEBUILDER_ASSETS", "");

    assert_eq!(
        refused(command.env("KBR", fails)),
        format!("error: there is no API server to test against:\n{said}")
    );
}

/// Why no environment starts for the project `tests/it/bad/NAME`.
#[track_caller]
fn error(name: &str) -> String {
    match TestEnv::start(project(name)) {
        Ok(_) => panic!("{name} is not bad"),
        Err(error) => error.to_string(),
    }
}

pub fn project(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/it/bad")
        .join(name)
}

/// Splits off the path of the API server's log, and checks that it exists.
#[track_caller]
fn without_log(error: &str) -> &str {
    let (reason, log) = error.split_once("; its log: ").unwrap();
    assert!(log.ends_with("/kube-apiserver.log") && Path::new(log).exists());
    reason
}

#[test]
fn a_crd_that_the_api_server_rejects() {
    assert_eq!(
        without_log(&error("crd")),
        "the API server refused CustomResourceDefinition `tasks.probe.example.com`: \
         CustomResourceDefinition.apiextensions.k8s.io \"tasks.probe.example.com\" is invalid: \
         spec.scope: Unsupported value: \"Sideways\": supported values: \"Cluster\", \"Namespaced\""
    );
}

#[test]
fn two_crds_that_want_the_same_names() {
    // The API server decides which is the second.
    let refused = ["tasks", "toils"].map(|plural| {
        format!(
            "the API server refused CustomResourceDefinition `{plural}.probe.example.com`: \
             \"TaskList\" is already in use"
        )
    });
    let error = error("names");
    let reason = without_log(&error);
    assert!(
        refused.iter().any(|expected| expected == reason),
        "{reason}"
    );
}

#[test]
fn a_conversion_by_a_service_that_does_not_exist() {
    let path = project("uncalled").join("config/default");
    assert_eq!(
        error("uncalled"),
        format!(
            "`{}`: CustomResourceDefinition `tasks.probe.example.com` calls the Service \
             `system/webhook-service`, which does not exist.\n\
             In config/default/kustomization.yaml `- ../webhook` belongs under `resources`, and \
             `- path: webhook_replacements.yaml` under `replacements`",
            path.display()
        )
    );
}

#[test]
fn a_config_without_a_deployment() {
    let path = project("no-deployment").join("config/default");
    assert_eq!(
        error("no-deployment"),
        format!(
            "`{}` has no Deployment with the label `control-plane: controller-manager` and a \
             serviceAccountName, so there is no account to run as",
            path.display()
        )
    );
}

#[test]
fn an_invalid_kustomization() {
    let path = project("kustomization").join("config/default");
    assert_eq!(
        error("kustomization"),
        format!(
            "`kubectl kustomize {0}` failed: error: invalid Kustomization: json: cannot unmarshal string into Go struct field Kustomization.resources of type []string",
            path.display()
        )
    );
}

#[tokio::test]
async fn the_port_of_the_api_server_was_taken_while_it_was_down() {
    let env = mortal().await;
    let port = env.manager_config().cluster_url.port_u16().unwrap();
    env.kill_api_server();
    let taken = TcpListener::bind(("127.0.0.1", port)).unwrap();

    let error = env.start_api_server().await.unwrap_err();

    assert!(matches!(error, TestEnvError::PortTaken { .. }), "{error}");
    let log = env.logs().join("kube-apiserver.log");
    assert_eq!(
        error.to_string(),
        format!(
            "kube-apiserver could not start: port {port} is taken; its log: {}",
            log.display()
        )
    );
    drop(taken);
    env.start_api_server().await.unwrap();
}
