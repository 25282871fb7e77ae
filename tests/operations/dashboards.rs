//! The dashboards and alerts of a project, with Prometheus' own query engine, on scrapes of the operator of
//! `testdata/cronjob`. A metric that is renamed leaves a panel without data, or an alert that never fires.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::support::go_tool::QUICKLY;
use crate::support::goldens::{SHOWCASE, check_out};
use crate::support::port::free_port;
use crate::support::running::Running;
use crate::support::{REPOSITORY, Run, Sandbox, assets, cargo, compiling, target};

/// The folder of the program, and of the queries and cases for it.
const TOOL: &str = "tests/tools/dashboards";

/// The program, which is built the first time.
fn tool() -> &'static Path {
    static TOOL_BINARY: LazyLock<PathBuf> = LazyLock::new(|| {
        let binary = Path::new(REPOSITORY).join("target/tools/dashboards");
        let built = Command::new("go")
            .arg("build")
            .args(QUICKLY)
            .arg("-o")
            .arg(&binary)
            .arg(".")
            .current_dir(Path::new(REPOSITORY).join(TOOL))
            .stdin(Stdio::null())
            .status();
        let is_built = built.is_ok_and(|status| status.success());
        assert!(
            is_built,
            "no Prometheus to test with: install Go 1.26 or newer, which builds it"
        );
        binary
    });
    &TOOL_BINARY
}

/// Calls the program with files of `testdata/cronjob`.
fn run(mode: &str, scrapes: &Path, files: &[&str]) -> Run {
    let mut tool = Command::new(tool());
    tool.arg(mode).arg(scrapes).args(files);
    tool.current_dir(Path::new(REPOSITORY).join("testdata").join(SHOWCASE));
    tool.output().expect("the program runs").into()
}

/// The file that lists scrapes of a running operator, and of the API server that calls it.
fn scrapes() -> &'static Path {
    static SCRAPES: LazyLock<PathBuf> = LazyLock::new(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("scrapes");
        fs::create_dir_all(&folder).expect("a folder");
        scrape(&folder);
        let labels = |namespace: &str, pod: &str| {
            json!({
                "job": SHOWCASE, "namespace": namespace, "pod": pod, "instance": format!("{pod}:8443"),
            })
        };
        let targets = json!([
            { "labels": labels("cronjob-system", "a"), "files": ["first", "second"] },
            { "labels": labels("other-system", "b"), "files": ["first", "second"] },
            { "labels": { "job": "apiserver" }, "files": ["apiserver"] },
        ]);
        let path = folder.join("scrapes.json");
        fs::write(&path, targets.to_string()).expect("a file");
        path
    });
    &SCRAPES
}

/// Scrapes the operator while it reconciles and answers reviews.
fn scrape(folder: &Path) {
    let _one_at_a_time = compiling();
    let project = Sandbox::new();
    check_out(SHOWCASE, project.path());
    assert!(cargo(
        project.path(),
        "build --locked --quiet --example run-local --features kbr-testing/development"
    ));
    let port = free_port();
    let mut operator = Command::new(target().join("debug/examples/run-local"));
    operator
        .args(["--health-probe-bind-address=0", "--metrics-secure=false"])
        .arg(format!("--metrics-bind-address=127.0.0.1:{port}"))
        .args([
            "--leader-elect",
            "--leader-election-namespace=cronjob-system",
        ])
        .arg("--leader-election-id=cronjob-controller-manager")
        .current_dir(project.path())
        .env("KUBEBUILDER_ASSETS", assets());
    let mut operator = Running::start(operator, &folder.join("operator"));
    let kubeconfig = operator.wait_for("kubeconfig", |operator| {
        let stdout = operator.stdout();
        let (line, _) = stdout.split_once('\n')?;
        line.strip_prefix("KUBECONFIG=").map(str::to_owned)
    });
    let kubectl = |line: &str| -> Run {
        let mut kubectl = Command::new(assets().join("kubectl"));
        kubectl
            .args(line.split_whitespace())
            .arg(format!("--kubeconfig={kubeconfig}"));
        kubectl.current_dir(project.path());
        kubectl.output().expect("kubectl runs").into()
    };
    // Once the webhooks are served.
    operator.wait_for("sample", |_| {
        (kubectl("apply -k config/samples").code() == Some(0)).then_some(())
    });
    let reconciled =
        r#"controller_runtime_reconcile_total{controller="cronjob",result="requeue_after"} "#;
    let first = operator.wait_for("reconcile", |_| {
        let scrape = get(port)?;
        let line = scrape
            .lines()
            .find_map(|line| line.strip_prefix(reconciled))?;
        (line != "0").then_some(scrape)
    });
    fs::write(folder.join("first"), first).expect("a file");

    // Only after a failure, the API server has a metric of such failures.
    for group in [
        "unreachable.tutorial.kubebuilder.io",
        "unreachable.example.com",
    ] {
        project.write(
            "target/webhook.json",
            &unreachable_webhook(group).to_string(),
        );
        kubectl("apply -f target/webhook.json").success();
        operator.wait_for("failing webhook", |_| {
            let created = kubectl(&format!("create configmap {group}"));
            kubectl(&format!("delete configmap {group} --ignore-not-found"));
            created
                .stderr
                .contains("failed calling webhook")
                .then_some(())
        });
        project.write(
            "target/crd.json",
            &unreachable_conversion(group).to_string(),
        );
        kubectl("apply -f target/crd.json").success();
        let object = json!({
            "apiVersion": format!("{group}/v2"), "kind": "Thing",
            "metadata": { "name": "thing", "namespace": "default" },
        });
        project.write("target/thing.json", &object.to_string());
        operator.wait_for("failing conversion", |_| {
            let created = kubectl("create -f target/thing.json");
            created.stderr.contains("conversion webhook").then_some(())
        });
    }
    let of_server = kubectl("get --raw /metrics").success().stdout;
    fs::write(folder.join("apiserver"), of_server).expect("a file");
    fs::write(folder.join("second"), get(port).expect("metrics")).expect("a file");
    operator.terminate();
}

/// A webhook that nobody serves, for one ConfigMap.
fn unreachable_webhook(name: &str) -> Value {
    let webhook = json!({
        "name": name, "sideEffects": "None", "admissionReviewVersions": ["v1"],
        "clientConfig": { "url": "https://127.0.0.1:1/" }, "failurePolicy": "Fail",
        "matchConditions": [{ "name": "one", "expression": format!("object.metadata.name == '{name}'") }],
        "rules": [{ "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"] }],
    });
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": { "name": name }, "webhooks": [webhook],
    })
}

/// A kind whose conversion nobody serves.
fn unreachable_conversion(group: &str) -> Value {
    let version = |name: &str| {
        json!({
            "name": name, "served": true, "storage": name == "v1",
            "schema": { "openAPIV3Schema": { "type": "object" } },
        })
    };
    let webhook = json!({
        "clientConfig": { "url": "https://127.0.0.1:1/" }, "conversionReviewVersions": ["v1"],
    });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("things.{group}") },
        "spec": {
            "group": group, "scope": "Namespaced", "versions": [version("v1"), version("v2")],
            "names": { "kind": "Thing", "plural": "things", "singular": "thing", "listKind": "ThingList" },
            "conversion": { "strategy": "Webhook", "webhook": webhook },
        },
    })
}

/// The metrics that are served on a port.
fn get(port: u16) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    head.contains(" 200 ").then(|| body.to_owned())
}

/// Two operators of one project are in this Prometheus, each with its rules.
#[test]
fn each_alert_fires_when_it_must_and_only_then() {
    let cases = Path::new(REPOSITORY).join(TOOL).join("alerts.yaml");
    let config = Path::new(REPOSITORY)
        .join("testdata")
        .join(SHOWCASE)
        .join("config");
    let rules = fs::read_to_string(config.join("prometheus/rules.yaml")).expect("the alerts");
    let folder = Sandbox::new();
    let mut paths = Vec::new();
    for namespace in ["cronjob-system", "other-system"] {
        let deployed = rules.replace("namespace: system\n", &format!("namespace: {namespace}\n"));
        folder.write(namespace, &deployed);
        paths.push(folder.path().join(namespace));
    }
    paths.push(cases);
    let paths: Vec<&str> = paths
        .iter()
        .map(|path| path.to_str().expect("a path"))
        .collect();
    run("alerts", scrapes(), &paths).success();
}

#[test]
fn each_panel_about_the_operator_has_data_and_fits_grafanas_schema() {
    run("panels", scrapes(), &["config/grafana/operator.json"]).success();
}

#[test]
fn kubebuilders_dashboards_have_data() {
    let queries = Path::new(REPOSITORY).join(TOOL).join("queries.txt");
    run("queries", scrapes(), &[queries.to_str().expect("a path")]).success();
}

/// What no data means is 0 in some of these panels, so a scrape would not show a metric that does not exist.
#[test]
fn each_panel_about_objects_asks_for_metrics_of_kube_state_metrics() {
    let config = Path::new(REPOSITORY)
        .join("testdata")
        .join(SHOWCASE)
        .join("config");
    let read = |path: &str| fs::read_to_string(config.join(path)).expect("a file");
    let metrics = read("prometheus/kube_state_metrics.yaml");
    let dashboard = read("grafana/objects.json");
    let mut asked = 0;
    for query in dashboard.split("${kind}_").skip(1) {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let name = query.split(|c| !is_part(c)).next().unwrap_or_default();
        let line = format!("    - name: {name}\n");
        assert!(metrics.contains(&line), "no metric {name}");
        asked += 1;
    }
    assert!(asked > 5);
}
