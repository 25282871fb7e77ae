//! `kbr bundle`: the bundles of the golden projects, as OLM's own validation reads them.

mod edits;
mod refused;

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde_json::{Value, json};

use crate::support::go_tool::built;
use crate::support::goldens::check_out;
use crate::support::{Run, Sandbox, kustomize};

/// The version of operator-framework/api.
const VERSION: &str = "v0.37.0";

const IMAGE: &str = "registry.example.com/operator:v1.2.3";

/// A golden project with its bundle.
struct Bundle {
    project: Sandbox,
    name: &'static str,
}

impl Bundle {
    fn of(name: &'static str) -> Self {
        let project = Sandbox::new();
        check_out(name, project.path());
        let line = format!("bundle --version 1.2.3 --image {IMAGE}");
        project.kbr(&line).success();
        Self { project, name }
    }

    fn path(&self) -> String {
        format!("bundle/manifests/{}.clusterserviceversion.yaml", self.name)
    }

    fn read(&self, path: &str) -> Value {
        serde_saphyr::from_str(&self.project.read(path)).expect("YAML")
    }

    /// The ClusterServiceVersion.
    fn service_version(&self) -> Value {
        self.read(&self.path())
    }

    /// What OLM's validation finds, with more of its checks.
    fn findings(&self, more: &[&str]) -> String {
        static VERIFY: OnceLock<PathBuf> = OnceLock::new();
        let package = "github.com/operator-framework/api/cmd/operator-verify";
        let verify = VERIFY.get_or_init(|| built(package, VERSION));
        let mut verify = Command::new(verify);
        verify.args(["manifests", "bundle"]).args(more);
        verify.current_dir(self.project.path()).stdin(Stdio::null());
        let run: Run = verify.output().expect("operator-verify runs").into();
        let run = run.success();
        run.stdout + &run.stderr
    }

    /// The manager's container.
    fn manager(&self) -> Value {
        let deployment = self.service_version()["spec"]["install"]["spec"]["deployments"][0].take();
        deployment["spec"]["template"]["spec"]["containers"][0].clone()
    }
}

fn texts(list: &Value) -> Vec<&str> {
    let list = list.as_array().into_iter().flatten();
    list.filter_map(Value::as_str).collect()
}

#[test]
fn operator_verify_finds_nothing() {
    for name in [
        "cronjob",
        "foo",
        "guestbook",
        "manager",
        "memcached",
        "multiversion",
        "myjob",
        "namespaced",
    ] {
        let bundle = Bundle::of(name);
        assert_eq!(bundle.findings(&["--object_validate"]), "", "{name}");
    }
}

#[test]
fn operator_verify_finds_what_is_wrong() {
    let bundle = Bundle::of("foo");
    bundle
        .project
        .edit(&bundle.path(), "installModes:", "noInstallModes:");
    let findings = bundle.findings(&[]);
    assert!(findings.contains("install modes not found"), "{findings}");
}

/// The objects that kustomize builds, of one kind.
fn of_kind(objects: &[Value], kind: &str) -> Vec<Value> {
    let objects = objects.iter().filter(|it| it["kind"] == kind);
    objects.cloned().collect()
}

#[test]
fn the_service_version_says_what_config_has() {
    let bundle = Bundle::of("cronjob");
    let version = bundle.service_version();
    assert_eq!(version["metadata"]["name"], "cronjob.v1.2.3");
    let spec = &version["spec"];
    assert_eq!(spec["version"], "1.2.3");
    assert_eq!(spec["displayName"], "Cronjob");
    assert_eq!(spec["minKubeVersion"], "1.30.0");

    // The roles that are bound to the manager, without that for certificates.
    let built = kustomize(&bundle.project);
    let install = &spec["install"]["spec"];
    let rules = |role: &Value| role["rules"].as_array().expect("rules").clone();
    let is_bound = |role: &&Value| {
        let name = role["metadata"]["name"].as_str().expect("a name");
        ["cronjob-manager-role", "cronjob-metrics-auth-role"].contains(&name)
    };
    let mut roles = of_kind(&built, "ClusterRole");
    roles.sort_by_key(|it| it["metadata"]["name"].to_string());
    let mut expected: Vec<Value> = roles.iter().filter(is_bound).flat_map(rules).collect();
    let mut found = install["clusterPermissions"][0]["rules"].clone();
    let found = found.as_array_mut().expect("rules");
    expected.sort_by_key(Value::to_string);
    found.sort_by_key(Value::to_string);
    assert_eq!(*found, expected);
    let account = "cronjob-controller-manager";
    for permissions in ["permissions", "clusterPermissions"] {
        let list = install[permissions].as_array().expect("permissions");
        assert_eq!(list.len(), 1);
        assert_eq!(list[0]["serviceAccountName"], account);
    }
    assert_eq!(
        install["permissions"][0]["rules"],
        json!([
            { "apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create"] },
            {
                "apiGroups": ["coordination.k8s.io"], "resources": ["leases"],
                "resourceNames": ["cronjob-controller-manager"], "verbs": ["get", "update", "watch"],
            },
        ])
    );

    // The Deployment, apart from what is about certificates.
    let mut expected = of_kind(&built, "Deployment").remove(0);
    let manager = &mut expected["spec"]["template"]["spec"]["containers"][0];
    manager["image"] = json!(IMAGE);
    let is_kept = |argument: &Value| {
        let flag = argument.as_str().expect("a flag").split('=').next();
        !flag.expect("a flag").ends_with("-configuration")
            && !["--webhook-cert-secret", "--webhook-service"].contains(&flag.expect("a flag"))
    };
    let args = manager["args"].as_array_mut().expect("flags");
    args.retain(is_kept);
    let env = manager["env"].as_array_mut().expect("variables");
    env.retain(|it| !it["name"].as_str().expect("a name").contains("WEBHOOK"));
    let mut own = install["deployments"][0].clone();
    let manager = &mut own["spec"]["template"]["spec"]["containers"][0];
    let args = manager["args"].as_array_mut().expect("flags");
    let path = json!("--webhook-cert-path=/tmp/k8s-webhook-server/serving-certs");
    let at = args.iter().position(|it| *it == path);
    args.remove(at.expect("the path of OLM"));
    assert_eq!(own["spec"], expected["spec"]);
    assert_eq!(own["name"], expected["metadata"]["name"]);
    assert_eq!(own["label"], expected["metadata"]["labels"]);

    // The webhooks, apart from the configurations that they are in.
    let webhooks = spec["webhookdefinitions"].as_array().expect("webhooks");
    let kinds = [
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
    ];
    let configured = kinds.iter().flat_map(|kind| of_kind(&built, kind));
    let configured: Vec<Value> = configured
        .flat_map(|it| it["webhooks"].as_array().expect("webhooks").clone())
        .collect();
    assert_eq!((webhooks.len(), configured.len()), (2, 2));
    for (own, configured) in webhooks.iter().zip(&configured) {
        assert_eq!(own["generateName"], configured["name"]);
        assert_eq!(
            own["webhookPath"],
            configured["clientConfig"]["service"]["path"]
        );
        for key in [
            "rules",
            "failurePolicy",
            "sideEffects",
            "admissionReviewVersions",
        ] {
            assert_eq!(own[key], configured[key]);
        }
        assert_eq!(own["deploymentName"], account);
        assert_eq!(own["containerPort"], 443);
        assert_eq!(own["targetPort"], 9443);
    }
    assert_eq!(webhooks[0]["type"], "MutatingAdmissionWebhook");
    assert_eq!(webhooks[1]["type"], "ValidatingAdmissionWebhook");

    // The CRD and its sample.
    let owned = spec["customresourcedefinitions"]["owned"].as_array();
    let [owned] = &owned.expect("CRDs")[..] else {
        panic!("{spec:#}");
    };
    assert_eq!(owned["name"], "cronjobs.batch.tutorial.kubebuilder.io");
    assert_eq!(
        (&owned["version"], &owned["kind"], &owned["displayName"]),
        (&json!("v1"), &json!("CronJob"), &json!("Cron Job"))
    );
    let crd = bundle.read("bundle/manifests/batch.tutorial.kubebuilder.io_cronjobs.yaml");
    let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    assert_eq!(owned["description"], schema["description"]);
    for (field, key) in [("spec", "specDescriptors"), ("status", "statusDescriptors")] {
        let fields = schema["properties"][field]["properties"].as_object();
        let fields: Vec<&String> = fields.expect("fields").keys().collect();
        let paths = owned[key].as_array().expect("descriptors").iter();
        let paths: Vec<&str> = paths
            .map(|it| it["path"].as_str().expect("a path"))
            .collect();
        assert_eq!(paths, fields);
    }
    let examples = version["metadata"]["annotations"]["alm-examples"].as_str();
    let examples: Value = serde_json::from_str(examples.expect("examples")).expect("JSON");
    let sample = bundle.read("config/samples/batch_v1_cronjob.yaml");
    assert_eq!(examples, json!([sample]));
}

#[test]
fn the_bundle_has_what_olm_does_not_make() {
    let bundle = Bundle::of("cronjob");
    let tree = bundle.project.tree();
    let files = tree.keys().filter_map(|path| path.strip_prefix("bundle"));
    let files: Vec<&str> = files.collect();
    assert_eq!(
        files,
        [
            ".Dockerfile",
            "/manifests/batch.tutorial.kubebuilder.io_cronjobs.yaml",
            "/manifests/cronjob-controller-manager-metrics-service_v1_service.yaml",
            "/manifests/cronjob-controller-manager_policy_v1_poddisruptionbudget.yaml",
            "/manifests/cronjob-cronjob-admin-role_rbac.authorization.k8s.io_v1_clusterrole.yaml",
            "/manifests/cronjob-cronjob-editor-role_rbac.authorization.k8s.io_v1_clusterrole.yaml",
            "/manifests/cronjob-cronjob-viewer-role_rbac.authorization.k8s.io_v1_clusterrole.yaml",
            "/manifests/cronjob-metrics-reader_rbac.authorization.k8s.io_v1_clusterrole.yaml",
            "/manifests/cronjob.clusterserviceversion.yaml",
            "/metadata/annotations.yaml",
        ]
    );
    // The same facts, for the image and for the folder.
    let annotations = bundle.read("bundle/metadata/annotations.yaml");
    let annotations = annotations["annotations"].as_object().expect("annotations");
    let dockerfile = bundle.project.read("bundle.Dockerfile");
    let labels = dockerfile
        .lines()
        .filter_map(|line| line.strip_prefix("LABEL "));
    let labels: Vec<(&str, &str)> = labels
        .map(|it| it.split_once('=').expect("a pair"))
        .collect();
    let pairs = annotations.iter();
    let pairs: Vec<(&str, &str)> = pairs
        .map(|(key, value)| (key.as_str(), value.as_str().expect("a text")))
        .collect();
    assert_eq!(labels, pairs);
    assert!(dockerfile.contains("package.v1=cronjob\n"));
}

#[test]
fn a_conversion_is_installed_for_the_whole_cluster() {
    let bundle = Bundle::of("multiversion");
    let version = bundle.service_version();
    let webhooks = version["spec"]["webhookdefinitions"].as_array();
    let conversion = webhooks.expect("webhooks").last().expect("a conversion");
    assert_eq!(
        *conversion,
        json!({
            "type": "ConversionWebhook",
            "deploymentName": "multiversion-controller-manager",
            "containerPort": 443,
            "targetPort": 9443,
            "admissionReviewVersions": ["v1"],
            "conversionCRDs": ["cronjobs.batch.tutorial.kubebuilder.io"],
            "generateName": "multiversion-conversion",
            "sideEffects": "None",
            "webhookPath": "/convert",
        })
    );
    let supported = |mode: &str| {
        let modes = version["spec"]["installModes"].as_array().expect("modes");
        let mode = modes.iter().find(|it| it["type"] == mode);
        mode.expect("each mode")["supported"] == true
    };
    assert!(supported("AllNamespaces"));
    for mode in ["OwnNamespace", "SingleNamespace", "MultiNamespace"] {
        assert!(!supported(mode));
    }
    let crd = bundle.read("bundle/manifests/batch.tutorial.kubebuilder.io_cronjobs.yaml");
    assert_eq!(crd["metadata"].get("annotations"), None);
    // Until OLM has written its own.
    assert_eq!(
        crd["spec"]["conversion"]["webhook"]["clientConfig"],
        json!({ "service": {
            "name": "multiversion-controller-manager-service", "namespace": "multiversion-system",
            "path": "/convert", "port": 443,
        } })
    );
    // cert-manager is not needed.
    let manager = bundle.manager();
    let path = "--webhook-cert-path=/tmp/k8s-webhook-server/serving-certs";
    let is_path = |it: &&str| it.starts_with("--webhook-cert");
    let args = texts(&manager["args"]);
    let paths: Vec<&str> = args.into_iter().filter(is_path).collect();
    assert_eq!(paths, [path]);
    assert_eq!(manager["volumeMounts"], json!([]));
    for (path, text) in bundle.project.tree() {
        assert!(
            !path.starts_with("bundle/") || !text.contains("cert-manager"),
            "{path}"
        );
    }
}

#[test]
fn a_namespaced_operator_watches_what_olm_tells_it() {
    let bundle = Bundle::of("namespaced");
    let version = bundle.service_version();
    assert_eq!(
        version["spec"]["installModes"],
        json!([
            { "supported": true, "type": "OwnNamespace" },
            { "supported": true, "type": "SingleNamespace" },
            { "supported": true, "type": "MultiNamespace" },
            { "supported": false, "type": "AllNamespaces" },
        ])
    );
    let manager = bundle.manager();
    let env = manager["env"].as_array().expect("variables");
    let variable = env.iter().find(|it| it["name"] == "WATCH_NAMESPACE");
    let field = &variable.expect("the variable")["valueFrom"]["fieldRef"]["fieldPath"];
    assert_eq!(field, "metadata.annotations['olm.targetNamespaces']");
    let install = &version["spec"]["install"]["spec"];
    let rules = install["permissions"][0]["rules"].to_string();
    assert!(
        rules.contains("shop.example.com") && rules.contains("leases"),
        "{rules}"
    );
    let everywhere = install["clusterPermissions"][0]["rules"].to_string();
    assert!(!everywhere.contains("shop.example.com"), "{everywhere}");
    assert!(
        !everywhere.contains("admissionregistration"),
        "{everywhere}"
    );

    // A role in each of several namespaces is one permission.
    let project = &bundle.project;
    project.edit(
        "config/manager/manager.yaml",
        "          valueFrom:\n            fieldRef:\n              apiVersion: v1\n              fieldPath: metadata.namespace\n",
        "          value: \"team-a,team-b\"\n",
    );
    let roles = project.read("config/rbac/role.yaml");
    let role = |namespace: &str| {
        roles
            .replace(
                "namespace: system\nrules",
                &format!("namespace: {namespace}\nrules"),
            )
            .replace(
                "namespace: system\n  labels",
                &format!("namespace: {namespace}\n  labels"),
            )
    };
    project.write(
        "config/rbac/role.yaml",
        &format!("{}---\n{}", role("team-a"), role("team-b")),
    );
    project.kbr("bundle").success();
    assert_eq!(
        bundle.service_version()["spec"]["install"],
        version["spec"]["install"]
    );
}

#[test]
fn certificates_of_cert_manager_are_left_out() {
    let bundle = Bundle::of("manager");
    let project = &bundle.project;
    let default = "config/default/kustomization.yaml";
    project.edit(default, "- ../rbac\n", "- ../rbac\n- ../prometheus\n");
    let run = project.kbr("bundle").success();
    assert!(!run.stderr.contains("cert-manager"), "{}", run.stderr);
    let monitor = "bundle/manifests/manager-controller-manager-metrics-monitor_monitoring.coreos.com_v1_servicemonitor.yaml";
    let before = (bundle.service_version(), bundle.read(monitor));
    project.edit(
        default,
        "resources:\n",
        "components: [../metrics-certificate]\nresources:\n",
    );
    let run = project.kbr("bundle").success();
    assert!(
        run.stderr
            .contains("OLM installs no certificates of cert-manager"),
        "{}",
        run.stderr
    );
    assert_eq!((bundle.service_version(), bundle.read(monitor)), before);
    assert_eq!(bundle.findings(&[]), "");
}
