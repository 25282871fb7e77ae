//! The OLM bundle of `kbr bundle`, installed as OLM installs it.
//!
//! OLM itself is neither a package nor a Go module, so this does by hand what it does with a ClusterServiceVersion: the
//! roles of the ServiceAccount, the Service, the certificate and its two mounts, the Deployment, and a configuration for
//! each webhook.
//!
//! Source: `pkg/controller/install` and `pkg/controller/registry/resolver/rbac.go` in OLM.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::charts::is_reviewed;
use crate::cluster::{Cluster, eventually, output};
use crate::deployed::Deployed;

const NAMESPACE: &str = "bundles";
const RBAC: &str = "rbac.authorization.k8s.io";

/// A CA and a certificate for these names, as files in a folder.
fn certify(folder: &Path, names: &[String]) {
    fs::create_dir_all(folder).expect("a folder");
    let names = names.iter().map(|name| format!("DNS:{name}"));
    let names = format!("subjectAltName={}", names.collect::<Vec<_>>().join(","));
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2";
    for (own, more) in [
        ("-keyout ca.key -out ca.crt -subj /CN=olm", vec![]),
        (
            "-keyout tls.key -out tls.crt -subj /CN=manager -CA ca.crt -CAkey ca.key",
            vec!["-addext", &names, "-addext", "basicConstraints=CA:FALSE"],
        ),
    ] {
        let mut openssl = Command::new("openssl");
        openssl.current_dir(folder).args(["req", "-x509"]);
        openssl.args(key.split(' ')).args(own.split(' ')).args(more);
        output(&mut openssl);
    }
}

/// Applies an object in the namespace.
#[track_caller]
fn apply(deployed: &Deployed<'_>, object: &Value) {
    let path = deployed.folder.join("target-of-olm.json");
    fs::write(&path, object.to_string()).expect("a file");
    let line = format!("apply --server-side -n {NAMESPACE} -f {}", path.display());
    deployed.cluster.kubectl(&line);
}

/// The roles of a list of permissions, with their bindings.
fn roles(permissions: &Value, kind: &str) -> Vec<Value> {
    let permissions = permissions.as_array().into_iter().flatten();
    let roles = permissions.enumerate().flat_map(|(at, permission)| {
        let account = &permission["serviceAccountName"];
        let metadata = json!({ "name": format!("olm-{at}") });
        let api = format!("{RBAC}/v1");
        [
            json!({ "apiVersion": api, "kind": kind, "metadata": metadata, "rules": permission["rules"] }),
            json!({
                "apiVersion": api,
                "kind": format!("{kind}Binding"),
                "metadata": metadata,
                "roleRef": { "apiGroup": RBAC, "kind": kind, "name": metadata["name"] },
                "subjects": [{ "kind": "ServiceAccount", "name": account, "namespace": NAMESPACE }],
            }),
        ]
    });
    roles.collect()
}

/// Adds a volume of the certificate's Secret, with its files under these names.
fn mount(deployment: &mut Value, volume: &str, path: &str, [certificate, key]: [&str; 2]) {
    let name = deployment["name"].as_str().expect("a name");
    let volume = json!({
        "name": volume,
        "secret": { "secretName": format!("{name}-service-cert"), "items": [
            { "key": "tls.crt", "path": certificate }, { "key": "tls.key", "path": key },
        ] },
    });
    let mount = json!({ "name": volume["name"], "mountPath": path });
    let pod = &mut deployment["spec"]["template"]["spec"];
    let volumes = pod["volumes"].as_array_mut().expect("volumes");
    volumes.push(volume);
    let mounts = pod["containers"][0]["volumeMounts"].as_array_mut();
    mounts.expect("mounts").push(mount);
}

/// The configuration of one webhook.
fn configuration(webhook: &Value, service: &str, ca: &str) -> Value {
    let kind = webhook["type"].as_str().expect("a type");
    let kind = kind
        .strip_suffix("AdmissionWebhook")
        .expect("no conversion");
    let mut own = json!({
        "name": webhook["generateName"],
        "namespaceSelector": {},
        "clientConfig": {
            "service": {
                "name": service,
                "namespace": NAMESPACE,
                "path": webhook["webhookPath"],
                "port": webhook["containerPort"],
            },
            "caBundle": ca,
        },
    });
    for key in [
        "rules",
        "failurePolicy",
        "sideEffects",
        "admissionReviewVersions",
    ] {
        own[key] = webhook[key].clone();
    }
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": format!("{kind}WebhookConfiguration"),
        "metadata": { "name": format!("olm-{}", webhook["generateName"].as_str().expect("a name")) },
        "webhooks": [own],
    })
}

/// Applies what is installed as it is, and returns the ClusterServiceVersion.
fn manifests(deployed: &Deployed<'_>) -> Value {
    let folder = deployed.folder.join("bundle/manifests");
    let mut version = Value::Null;
    for entry in fs::read_dir(folder).expect("the bundle") {
        let path = entry.expect("a file").path();
        let text = fs::read_to_string(&path).expect("a text");
        let object: Value = serde_saphyr::from_str(&text).expect("YAML");
        match object["kind"] == "ClusterServiceVersion" {
            true => version = object,
            false => apply(deployed, &object),
        }
    }
    version
}

/// Applies the ServiceAccount and its roles, and returns those for the cluster.
fn permissions(deployed: &Deployed<'_>, install: &Value) -> Vec<Value> {
    let deployment = &install["deployments"][0];
    let account = &deployment["spec"]["template"]["spec"]["serviceAccountName"];
    apply(
        deployed,
        &json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": account } }),
    );
    let cluster_wide = roles(&install["clusterPermissions"], "ClusterRole");
    for role in roles(&install["permissions"], "Role")
        .iter()
        .chain(&cluster_wide)
    {
        apply(deployed, role);
    }
    cluster_wide
}

/// Applies the Service and the Secret of the webhooks. Returns the CA, in base64.
fn serve(deployed: &Deployed<'_>, service: &str, webhooks: &[Value], labels: &Value) -> String {
    let port = &webhooks[0]["containerPort"];
    apply(
        deployed,
        &json!({
            "apiVersion": "v1", "kind": "Service", "metadata": { "name": service },
            "spec": {
                "ports": [{ "name": port.to_string(), "port": port, "targetPort": webhooks[0]["targetPort"] }],
                "selector": labels,
            },
        }),
    );
    let folder = deployed.folder.join("olm");
    let host = format!("{service}.{NAMESPACE}");
    certify(
        &folder,
        &[
            host.clone(),
            format!("{host}.svc"),
            format!("{host}.svc.cluster.local"),
        ],
    );
    let files = ["tls.crt", "tls.key"];
    let files = files.map(|file| format!("--from-file={}", folder.join(file).display()));
    let secret =
        format!("create secret generic {service}-cert -n {NAMESPACE} --type kubernetes.io/tls");
    deployed
        .cluster
        .kubectl(&format!("{secret} {} {}", files[0], files[1]));
    let mut base64 = Command::new("base64");
    output(base64.args(["--wrap", "0"]).arg(folder.join("ca.crt")))
}

/// It reviews, leads, reconciles and starts Jobs.
fn works(deployed: &Deployed<'_>) {
    let cluster = deployed.cluster;
    is_reviewed(deployed);
    // A manager leads, with a Lease that it has created, and reconciles.
    eventually("the sample is reconciled", 120, || {
        let sample = cluster.json("get cronjobs.batch.tutorial.kubebuilder.io cronjob-sample");
        let holder = format!("get lease cronjob-controller-manager -n {NAMESPACE}");
        let holder = cluster.json(&holder)["spec"]["holderIdentity"].clone();
        let is_done = sample["status"]["observedGeneration"] == sample["metadata"]["generation"];
        (is_done && holder.is_string()).then_some(())
    });
    eventually("a Job runs", 120, || {
        let jobs = cluster.kubectl("get jobs -n default -o name");
        (!jobs.trim().is_empty()).then_some(())
    });
    let logs = format!("logs -n {NAMESPACE} -l control-plane=controller-manager --tail=-1");
    let logs = cluster.kubectl(&logs);
    for word in ["forbidden", "\"ERROR\"", "certificates-role"] {
        assert!(!logs.contains(word), "{logs}");
    }
}

/// Installed from the bundle, the operator works, in a namespace that enforces `restricted`.
pub fn olm(cluster: &Cluster) {
    let deployed = Deployed::built(cluster, "cronjob");
    let bundle = "bundle --version 1.0.0 --image cronjob:v1";
    output(deployed.run("kbr").args(bundle.split(' ')));
    cluster.kubectl(&format!("create namespace {NAMESPACE}"));
    let restricted = "pod-security.kubernetes.io/enforce=restricted";
    cluster.kubectl(&format!("label namespace {NAMESPACE} {restricted}"));

    let version = manifests(&deployed);
    let spec = &version["spec"];
    let install = &spec["install"]["spec"];
    let mut deployment = install["deployments"][0].clone();
    let name = deployment["name"].as_str().expect("a name").to_owned();
    let service = format!("{name}-service");

    let cluster_wide = permissions(&deployed, install);
    let webhooks = spec["webhookdefinitions"].as_array().expect("webhooks");
    let labels = &deployment["spec"]["selector"]["matchLabels"];
    let ca = serve(&deployed, &service, webhooks, labels);
    mount(
        &mut deployment,
        "apiservice-cert",
        "/apiserver.local.config/certificates",
        ["apiserver.crt", "apiserver.key"],
    );
    mount(
        &mut deployment,
        "webhook-cert",
        "/tmp/k8s-webhook-server/serving-certs",
        ["tls.crt", "tls.key"],
    );
    let annotations = &mut deployment["spec"]["template"]["metadata"]["annotations"];
    annotations["olm.operatorNamespace"] = NAMESPACE.into();
    annotations["olm.targetNamespaces"] = "".into();
    apply(
        &deployed,
        &json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": { "name": name, "labels": deployment["label"] },
            "spec": deployment["spec"],
        }),
    );
    let configurations = webhooks
        .iter()
        .map(|it| configuration(it, &service, ca.trim()));
    let configurations: Vec<Value> = configurations.collect();
    configurations.iter().for_each(|it| apply(&deployed, it));
    cluster.kubectl(&format!(
        "rollout status deployment/{name} -n {NAMESPACE} --timeout 180s"
    ));

    works(&deployed);
    let crd = "crd cronjobs.batch.tutorial.kubebuilder.io";
    cluster.kubectl("delete cronjobs.batch.tutorial.kubebuilder.io --all");
    cluster.kubectl(&format!("delete {crd}"));
    for object in cluster_wide.iter().chain(&configurations) {
        let kind = object["kind"].as_str().expect("a kind").to_lowercase();
        let name = object["metadata"]["name"].as_str().expect("a name");
        cluster.kubectl(&format!("delete {kind} {name}"));
    }
    let people = "delete clusterroles -l app.kubernetes.io/name=cronjob";
    cluster.kubectl(people);
    cluster.kubectl(&format!("delete namespace {NAMESPACE}"));
}
