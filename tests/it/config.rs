//! What kustomize builds from `config/` with the options that a user switches on there.

use serde_json::Value;

use crate::support::goldens::check_out;
use crate::support::{Sandbox, kustomize};

/// The line that makes the metrics server use a certificate of cert-manager, as in README.md.
const COMPONENT: &str = "components: [../metrics-certificate]";

/// A golden with webhooks, and one without.
const PROJECTS: [&str; 2] = ["scaffold", "manager"];

fn project(name: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    check_out(name, sandbox.path());
    sandbox
}

/// Writes a line above another one in `config/default/kustomization.yaml`.
fn switch_on(project: &Sandbox, line: &str, above: &str) {
    let file = "config/default/kustomization.yaml";
    project.edit(file, above, &format!("{line}\n{above}"));
}

fn find<'a>(objects: &'a [Value], kind: &str, name: &str) -> &'a Value {
    let is_it = |object: &&Value| object["kind"] == kind && object["metadata"]["name"] == name;
    let mut found = objects.iter().filter(is_it);
    let object = found.next();
    assert!(found.next().is_none(), "two {kind} {name}");
    object.unwrap_or_else(|| panic!("no {kind} {name}"))
}

fn kinds<'a>(objects: &'a [Value], kind: &str) -> Vec<&'a str> {
    let of_kind = objects.iter().filter(|object| object["kind"] == kind);
    let name = |object: &'a Value| object["metadata"]["name"].as_str().expect("a name");
    of_kind.map(name).collect()
}

/// The `serverName`: the host name of the Service in the cluster.
fn host(name: &str) -> String {
    format!("{name}-controller-manager-metrics-service.{name}-system.svc")
}

#[test]
fn one_line_gives_metrics_a_certificate_of_cert_manager() {
    for name in PROJECTS {
        for monitored in [false, true] {
            let project = project(name);
            assert!(project.read("README.md").contains(COMPONENT));
            if monitored {
                switch_on(&project, "- ../prometheus", "- ../rbac");
            }
            let before = kustomize(&project);
            switch_on(&project, COMPONENT, "resources:");
            let after = kustomize(&project);
            assert_eq!(
                kinds(&before, "Certificate").len() + 2,
                kinds(&after, "Certificate").len()
            );

            let host = host(name);
            let certificate = find(&after, "Certificate", &format!("{name}-metrics-certs"));
            let (service, namespace) = host.split_once('.').expect("two names");
            assert_eq!(
                certificate["spec"]["dnsNames"],
                serde_json::json!([host, format!("{host}.cluster.local")])
            );
            let service = find(&after, "Service", service);
            let in_namespace = service["metadata"]["namespace"]
                .as_str()
                .expect("a namespace");
            assert_eq!(namespace, format!("{in_namespace}.svc"));

            // The Issuer of the authority signs it; the other Issuer signs the authority.
            let issuer = certificate["spec"]["issuerRef"]["name"]
                .as_str()
                .expect("a name");
            let issuer = find(&after, "Issuer", issuer);
            let authority = find(&after, "Certificate", &format!("{name}-metrics-ca"));
            assert_eq!(
                issuer["spec"]["ca"]["secretName"],
                authority["spec"]["secretName"]
            );
            let root = authority["spec"]["issuerRef"]["name"]
                .as_str()
                .expect("a name");
            assert!(find(&after, "Issuer", root)["spec"]["selfSigned"].is_object());

            let manager = find(&after, "Deployment", &format!("{name}-controller-manager"));
            let pod = &manager["spec"]["template"]["spec"];
            let arguments = pod["containers"][0]["args"].as_array().expect("arguments");
            let path = arguments
                .iter()
                .find_map(|argument| argument.as_str()?.strip_prefix("--metrics-cert-path="));
            let with = |list: &Value, key: &str, value: &Value| {
                let mut list = list.as_array().expect("a list").iter();
                list.find(|entry| entry[key] == *value)
                    .expect("an entry")
                    .clone()
            };
            let mounts = &pod["containers"][0]["volumeMounts"];
            let mount = with(mounts, "mountPath", &path.expect("the flag").into());
            let volume = with(&pod["volumes"], "name", &mount["name"]);
            let secret = &certificate["spec"]["secretName"];
            assert_eq!(volume["secret"]["secretName"], *secret);

            if monitored {
                let monitor = format!("{name}-controller-manager-metrics-monitor");
                let monitor = find(&after, "ServiceMonitor", &monitor);
                assert_eq!(
                    monitor["spec"]["endpoints"][0]["tlsConfig"],
                    serde_json::json!({
                        "ca": { "secret": { "name": secret, "key": "ca.crt" } },
                        "serverName": host
                    })
                );
            }
        }
    }
}

#[test]
fn without_the_line_metrics_have_the_managers_own_certificate() {
    for name in PROJECTS {
        let project = project(name);
        switch_on(&project, "- ../prometheus", "- ../rbac");
        let objects = kustomize(&project);
        let manager = find(
            &objects,
            "Deployment",
            &format!("{name}-controller-manager"),
        );
        assert!(!manager.to_string().contains("--metrics-cert-path"));
        let of_metrics = |kind| {
            kinds(&objects, kind)
                .iter()
                .any(|name| name.contains("metrics"))
        };
        assert!(!of_metrics("Certificate") && !of_metrics("Issuer"));
        let monitor = format!("{name}-controller-manager-metrics-monitor");
        let monitor = find(&objects, "ServiceMonitor", &monitor);
        assert_eq!(
            monitor["spec"]["endpoints"][0]["tlsConfig"],
            serde_json::json!({ "insecureSkipVerify": true, "serverName": host(name) })
        );
    }
}

/// The namespace of the project is changed in one place.
#[test]
fn a_certificate_follows_the_namespace_and_the_names() {
    let project = project("manager");
    switch_on(&project, COMPONENT, "resources:");
    let file = "config/default/kustomization.yaml";
    project.edit(
        file,
        "namespace: \"manager-system\"",
        "namespace: elsewhere",
    );
    project.edit(file, "namePrefix: \"manager-\"", "namePrefix: other-");

    let objects = kustomize(&project);

    let certificate = find(&objects, "Certificate", "other-metrics-certs");
    let host = "other-controller-manager-metrics-service.elsewhere.svc";
    assert_eq!(certificate["spec"]["dnsNames"][0], host);
    assert_eq!(
        certificate["spec"]["issuerRef"]["name"],
        "other-metrics-issuer"
    );
}
