//! Every value does what its comment says.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Chart, find, name_of};

const POD: &str = "/spec/template/spec";
const CONTAINER: &str = "/spec/template/spec/containers/0";

/// A value, how to set it, and the kind, the name, the place and the new content of what changes.
type Case = (&'static str, &'static str, [&'static str; 2], String, Value);

fn cases() -> Vec<Case> {
    const DEPLOYMENT: [&str; 2] = ["Deployment", "controller-manager"];
    let pod = |key: &str| format!("{POD}/{key}");
    let container = |key: &str| format!("{CONTAINER}/{key}");
    vec![
        (
            "replicas",
            "replicas=5",
            DEPLOYMENT,
            "/spec/replicas".to_owned(),
            json!(5),
        ),
        (
            "image.repository",
            "image.repository=r.example.com/a",
            DEPLOYMENT,
            container("image"),
            json!("r.example.com/a:latest"),
        ),
        (
            "image.tag",
            "image.tag=v2",
            DEPLOYMENT,
            container("image"),
            json!("controller:v2"),
        ),
        (
            "image.pullPolicy",
            "image.pullPolicy=Always",
            DEPLOYMENT,
            container("imagePullPolicy"),
            json!("Always"),
        ),
        (
            "imagePullSecrets",
            "imagePullSecrets[0].name=registry",
            DEPLOYMENT,
            pod("imagePullSecrets"),
            json!([{ "name": "registry" }]),
        ),
        (
            "extraArgs",
            "extraArgs={--log-level=debug,--log-format=json}",
            DEPLOYMENT,
            container("args/6"),
            json!("--log-level=debug"),
        ),
        (
            "extraEnv",
            "extraEnv[0].name=A,extraEnv[0].value=b",
            DEPLOYMENT,
            container("env/2"),
            json!({ "name": "A", "value": "b" }),
        ),
        (
            "extraVolumes",
            "extraVolumes[0].name=a,extraVolumes[0].emptyDir.medium=Memory",
            DEPLOYMENT,
            pod("volumes/1"),
            json!({ "name": "a", "emptyDir": { "medium": "Memory" } }),
        ),
        (
            "extraVolumeMounts",
            "extraVolumeMounts[0].name=a,extraVolumeMounts[0].mountPath=/a",
            DEPLOYMENT,
            container("volumeMounts/1"),
            json!({ "name": "a", "mountPath": "/a" }),
        ),
        (
            "resources",
            "resources.limits.memory=1Gi",
            DEPLOYMENT,
            container("resources/limits"),
            json!({ "cpu": "500m", "memory": "1Gi" }),
        ),
        (
            "nodeSelector",
            "nodeSelector.disk=ssd",
            DEPLOYMENT,
            pod("nodeSelector"),
            json!({ "disk": "ssd" }),
        ),
        (
            "tolerations",
            "tolerations[0].operator=Exists",
            DEPLOYMENT,
            pod("tolerations"),
            json!([{ "operator": "Exists" }]),
        ),
        (
            "affinity",
            "affinity.podAffinity.a=b",
            DEPLOYMENT,
            pod("affinity"),
            json!({ "podAffinity": { "a": "b" } }),
        ),
        (
            "topologySpreadConstraints",
            "topologySpreadConstraints[0].maxSkew=2",
            DEPLOYMENT,
            pod("topologySpreadConstraints"),
            json!([{ "maxSkew": 2 }]),
        ),
        (
            "priorityClassName",
            "priorityClassName=high",
            DEPLOYMENT,
            pod("priorityClassName"),
            json!("high"),
        ),
        (
            "hostNetwork",
            "hostNetwork=true",
            DEPLOYMENT,
            pod("hostNetwork"),
            json!(true),
        ),
        (
            "terminationGracePeriodSeconds",
            "terminationGracePeriodSeconds=90",
            DEPLOYMENT,
            pod("terminationGracePeriodSeconds"),
            json!(90),
        ),
        (
            "strategy",
            "strategy.type=Recreate",
            DEPLOYMENT,
            "/spec/strategy".to_owned(),
            json!({ "type": "Recreate" }),
        ),
        (
            "deployment.annotations",
            "deployment.annotations.a/b=c",
            DEPLOYMENT,
            "/metadata/annotations".to_owned(),
            json!({ "a/b": "c" }),
        ),
        (
            "deployment.labels",
            "deployment.labels.a=b",
            DEPLOYMENT,
            "/metadata/labels/a".to_owned(),
            json!("b"),
        ),
        (
            "pod.annotations",
            "pod.annotations.a=b",
            DEPLOYMENT,
            "/spec/template/metadata/annotations/a".to_owned(),
            json!("b"),
        ),
        (
            "pod.labels",
            "pod.labels.a=b",
            DEPLOYMENT,
            "/spec/template/metadata/labels/a".to_owned(),
            json!("b"),
        ),
        (
            "serviceAccount.name",
            "serviceAccount.name=own",
            DEPLOYMENT,
            pod("serviceAccountName"),
            json!("own"),
        ),
        (
            "serviceAccount.annotations",
            "serviceAccount.annotations.a/b=c",
            ["ServiceAccount", "controller-manager"],
            "/metadata/annotations".to_owned(),
            json!({ "a/b": "c" }),
        ),
        (
            "webhook.caBundle",
            "webhook.caBundle=Q0E=",
            [
                "ValidatingWebhookConfiguration",
                "validating-webhook-configuration",
            ],
            "/webhooks/0/clientConfig/caBundle".to_owned(),
            json!("Q0E="),
        ),
    ]
}

#[test]
fn values_change_the_objects() {
    let chart = Chart::of("multiversion");
    let default = chart.default(&[]);
    for (key, set, [kind, name], place, expected) in cases() {
        let objects = chart.default(&["--set", set]);
        let name = format!("multiversion-{name}");
        let object = |objects| {
            find(objects, kind, &name)
                .expect("an object")
                .pointer(&place)
                .cloned()
        };
        assert_ne!(object(&default), Some(expected.clone()), "{key}");
        assert_eq!(object(&objects), Some(expected), "{key}");
        assert_eq!(objects.len(), default.len(), "{key}");
    }
}

/// Kind and name of each object, without the name of the project.
fn names(objects: &[Value]) -> BTreeSet<String> {
    let names = objects.iter();
    let names = names.map(|it| format!("{} {}", it["kind"].as_str().expect("a kind"), name_of(it)));
    names
        .map(|name| name.replace(" multiversion-", " "))
        .collect()
}

/// A value that decides whether there are objects, how to change it, and the objects that are not there in one of both.
const SWITCHES: [(&str, &str, &[&str]); 7] = [
    (
        "serviceAccount.enabled",
        "false",
        &["ServiceAccount controller-manager"],
    ),
    (
        "crds.enabled",
        "false",
        &["CustomResourceDefinition cronjobs.batch.tutorial.kubebuilder.io"],
    ),
    (
        "metrics.enabled",
        "false",
        &[
            "ClusterRole metrics-auth-role",
            "ClusterRole metrics-reader",
            "ClusterRoleBinding metrics-auth-rolebinding",
            "NetworkPolicy allow-metrics-traffic",
            "Service controller-manager-metrics-service",
        ],
    ),
    (
        "networkPolicy.enabled",
        "false",
        &[
            "NetworkPolicy allow-metrics-traffic",
            "NetworkPolicy allow-webhook-traffic",
        ],
    ),
    (
        "prometheus.enabled",
        "true",
        &[
            "PrometheusRule controller-manager-alerts",
            "ServiceMonitor controller-manager-metrics-monitor",
        ],
    ),
    ("grafana.enabled", "true", &["ConfigMap grafana-dashboards"]),
    (
        "certManager.enabled",
        "false",
        &[
            "Certificate serving-cert",
            "Certificate webhook-ca",
            "Issuer selfsigned-issuer",
            "Issuer webhook-issuer",
        ],
    ),
];

#[test]
fn switches_decide_which_objects_there_are() {
    let chart = Chart::of("multiversion");
    let default = names(&chart.default(&[]));
    for (key, value, expected) in SWITCHES {
        let objects = names(&chart.default(&["--set", &format!("{key}={value}")]));
        let different: Vec<&String> = default.symmetric_difference(&objects).collect();
        assert_eq!(different, expected, "{key}");
    }
}

/// The values of ports, with their defaults.
const PORTS: [(&str, &str); 3] = [
    ("healthProbe.port", "8081"),
    ("metrics.port", "8443"),
    ("webhook.port", "9443"),
];

#[test]
fn a_port_changes_wherever_it_is() {
    let chart = Chart::of("multiversion");
    let default = json!(chart.default(&[])).to_string();
    for (key, old) in PORTS {
        let changed = json!(chart.default(&["--set", &format!("{key}=7000")])).to_string();
        assert!(!changed.contains(old), "{key}");
        assert_eq!(
            changed.matches("7000").count(),
            default.matches(old).count(),
            "{key}"
        );
    }
}

#[test]
fn another_service_account_has_the_roles() {
    let chart = Chart::of("multiversion");
    let objects = chart.default(&["--set", "serviceAccount.name=own"]);
    let subjects = objects.iter().filter_map(|it| it["subjects"].as_array());
    let names: Vec<&str> = subjects
        .flatten()
        .filter_map(|subject| subject["name"].as_str())
        .collect();
    assert!(!names.is_empty() && names.iter().all(|name| *name == "own"));
    assert!(find(&objects, "ServiceAccount", "own").is_some());
}

#[test]
fn without_metrics_the_manager_serves_none() {
    let chart = Chart::of("multiversion");
    let objects = chart.default(&["--set", "metrics.enabled=false,prometheus.enabled=true"]);
    let deployment =
        find(&objects, "Deployment", "multiversion-controller-manager").expect("a Deployment");
    let container = deployment
        .pointer(CONTAINER)
        .expect("a container")
        .to_string();
    assert!(!container.contains("metrics"), "{container}");
    assert!(
        container.contains("--webhook-port=9443") && container.contains("health"),
        "{container}"
    );
    assert!(
        !names(&objects)
            .iter()
            .any(|name| name.starts_with("ServiceMonitor"))
    );
}

#[test]
fn alerts_can_be_left_out_and_follow_the_name_of_the_chart() {
    let chart = Chart::of("multiversion");
    let alerts = |values: &str| {
        let objects = chart.default(&["--set", values]);
        find(
            &objects,
            "PrometheusRule",
            "multiversion-controller-manager-alerts",
        )
        .map(Value::to_string)
    };
    assert_eq!(
        alerts("prometheus.enabled=true,prometheus.alerts=false"),
        None
    );
    let own = alerts("prometheus.enabled=true").expect("alerts");
    let values = "prometheus.enabled=true,nameOverride=b,fullnameOverride=multiversion";
    let renamed = alerts(values).expect("alerts");
    // What Prometheus replaces is not what Helm replaces.
    assert!(own.contains("{{ $labels.controller }}"), "{own}");
    let job = |name: &str| format!(r#"job=\"{name}\""#);
    assert!(own.matches(&job("multiversion")).count() > 10, "{own}");
    assert_eq!(
        own.matches(&job("multiversion")).count(),
        renamed.matches(&job("b")).count()
    );
    assert!(!renamed.contains(&job("multiversion")), "{renamed}");
    // The series of the operator that is deployed has whole labels.
    let labels = r#""labels":{"job":"b","namespace":"multiversion-system"}"#;
    assert!(renamed.contains(labels), "{renamed}");
    let values = "prometheus.enabled=true,fullnameOverride=own";
    let objects = chart.rendered("multiversion", "elsewhere", &["--set", values]);
    let own = find(&objects, "PrometheusRule", "own-controller-manager-alerts");
    let own = own.expect("alerts")["spec"].to_string();
    for text in [
        "`own-metrics-reader`",
        "`own-leader-election-role`",
        r#""namespace":"elsewhere""#,
        "-n elsewhere logs",
    ] {
        assert!(own.contains(text), "{text}: {own}");
    }
    assert!(!own.contains("multiversion-"), "{own}");
}

#[test]
fn without_cert_manager_nothing_asks_for_its_ca() {
    let chart = Chart::of("multiversion");
    let with = serde_json::to_string(&chart.default(&[])).expect("JSON");
    assert!(with.contains("cert-manager.io/inject-ca-from"));
    let arguments = ["--set", "certManager.enabled=false,webhook.caBundle=Q0E="];
    let objects = chart.default(&arguments);
    let without = serde_json::to_string(&objects).expect("JSON");
    assert!(!without.contains("cert-manager.io"), "{without}");
    let crd = objects
        .iter()
        .find(|it| it["kind"] == "CustomResourceDefinition");
    let client = crd.and_then(|crd| crd.pointer("/spec/conversion/webhook/clientConfig"));
    assert_eq!(client.expect("a conversion")["caBundle"], "Q0E=");
}

#[test]
fn crds_are_kept_unless_a_value_says_otherwise() {
    let chart = Chart::of("multiversion");
    let policy = |more: &[&str]| {
        let objects = chart.default(more);
        let crd = find(
            &objects,
            "CustomResourceDefinition",
            "cronjobs.batch.tutorial.kubebuilder.io",
        );
        crd.expect("a CRD")
            .pointer("/metadata/annotations/helm.sh~1resource-policy")
            .cloned()
    };
    assert_eq!(policy(&[]), Some(json!("keep")));
    assert_eq!(policy(&["--set", "crds.keep=false"]), None);
}

/// In `names.rs`.
const OF_NAMES: [&str; 2] = ["fullnameOverride", "nameOverride"];

#[test]
fn every_value_has_a_comment_a_type_and_a_test() {
    let chart = Chart::of("multiversion");
    let text = chart.project.read("dist/chart/values.yaml");
    let (mut group, mut keys, mut before) = (String::new(), BTreeSet::new(), "");
    for line in text.lines() {
        let key = line.trim().split(':').next().unwrap_or_default();
        let is_key = !key.starts_with('#') && !key.is_empty();
        let depth = line.len() - line.trim_start().len();
        let follows_comment = before.trim().starts_with('#');
        if is_key && depth == 0 {
            group = if follows_comment {
                String::new()
            } else {
                format!("{key}.")
            };
        }
        if is_key && follows_comment {
            keys.insert(format!("{}{key}", if depth > 0 { &group } else { "" }));
        } else if is_key && depth > 0 && !group.is_empty() {
            panic!("{line} has no comment");
        }
        before = line;
    }
    let tested = cases().into_iter().map(|case| case.0);
    let tested = tested
        .chain(SWITCHES.map(|switch| switch.0))
        .chain(PORTS.map(|port| port.0))
        .chain(OF_NAMES)
        .chain(["crds.keep", "prometheus.alerts"]);
    assert_eq!(keys, tested.map(str::to_owned).collect());
    let schema: Value =
        serde_json::from_str(&chart.project.read("dist/chart/values.schema.json")).expect("JSON");
    for key in &keys {
        let pointer = format!("/properties/{}", key.replace('.', "/properties/"));
        let schema = schema
            .pointer(&pointer)
            .unwrap_or_else(|| panic!("no {pointer}"));
        assert!(schema["description"].is_string());
    }
}

#[test]
fn the_notes_delete_objects_before_the_managers_and_crds_last() {
    let chart = Chart::of("multiversion");
    // Without a cluster, Helm shows only objects.
    let notes = chart.project.read("dist/chart/templates/NOTES.txt");
    let object = format!(
        "{{{{ define \"notes\" }}}}{notes}{{{{ end }}}}\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: notes\ndata:\n  \
         text: {{{{ include \"notes\" . | quote }}}}\n"
    );
    chart
        .project
        .write("dist/chart/templates/notes.yaml", &object);
    let notes = |values: &str| {
        let objects = chart.default(&["--set", values]);
        let notes = find(&objects, "ConfigMap", "notes").expect("the notes");
        let notes = notes["data"]["text"].as_str().expect("a text");
        let commands = notes.lines().filter_map(|line| line.strip_prefix("  "));
        commands.map(str::to_owned).collect::<Vec<_>>()
    };
    let wait = "kubectl --namespace multiversion-system rollout status deployment/multiversion-controller-manager";
    let all = [
        wait,
        "kubectl delete cronjobs.batch.tutorial.kubebuilder.io --all --all-namespaces --timeout=120s",
        "helm uninstall multiversion --namespace multiversion-system",
        "kubectl delete crd --selector app.kubernetes.io/name=multiversion,app.kubernetes.io/instance=multiversion --timeout=120s",
    ];
    assert_eq!(notes("crds.keep=true"), all);
    assert_eq!(notes("crds.keep=false"), all[..3]);
    // The objects are those of another release too.
    assert_eq!(notes("crds.enabled=false"), all[..1]);
}
