//! Certificates that are renewed, and projects that are updated, while the operator serves.

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::cluster::{Cluster, REPOSITORY, eventually, output};
use crate::deployed::{Deployed, sample};
use crate::reviews::{CRONJOBS, Reviews, none_failed};

/// A commit of kbr from when all projects had cert-manager's certificates; the next version is deployed over its operator.
const OLD: &str = "4d10ed12";

/// cert-manager renews the leaf twice, then the CA, then the leaf that the new CA signs.
pub fn certificates(cluster: &Cluster) {
    let deployed = Deployed::new(cluster, "multiversion");
    let namespace = deployed.namespace();
    let reviews = Reviews::start(cluster, CRONJOBS, &sample(&deployed, "v1"));
    for (certificate, secret) in [
        ("serving-cert", "webhook-server-cert"),
        ("serving-cert", "webhook-server-cert"),
        ("webhook-ca", "webhook-ca-cert"),
        ("serving-cert", "webhook-server-cert"),
    ] {
        let certificate = format!("{}-{certificate}", deployed.name);
        println!("    {certificate} is renewed");
        let loaded = loaded(&deployed);
        let content = format!("get secret {secret} -n {namespace} -o jsonpath={{.data.tls\\.crt}}");
        let old = cluster.kubectl(&content);
        // As `cmctl renew` does.
        let renew = r#"[{"op":"add","path":"/status/conditions/-","value":{"type":"Issuing","status":"True","reason":"ManuallyTriggered","lastTransitionTime":"2026-01-01T00:00:00Z"}}]"#;
        cluster.kubectl(&format!(
            "patch certificate {certificate} -n {namespace} --subresource=status --type=json -p {renew}"
        ));
        eventually("a new certificate", 60, || {
            (cluster.kubectl(&content) != old).then_some(())
        });
        if secret == "webhook-server-cert" {
            eventually("both managers serve it", 150, || {
                (self::loaded(&deployed) >= loaded + 2).then_some(())
            });
        } else {
            sleep(Duration::from_secs(10));
        }
    }
    none_failed(reviews, 10_000);
    deployed.undeploy();
}

/// Three managers renew a certificate of their own ten times, and its CA in between; once the Secret is deleted.
pub fn own_certificates(cluster: &Cluster) {
    let deployed = Deployed::new(cluster, "cronjob");
    let namespace = deployed.namespace();
    // Renewed every 40 seconds.
    let short = r#"[{"op":"replace","path":"/spec/replicas","value":3},{"op":"add","path":"/spec/template/spec/containers/0/args/-","value":"--webhook-cert-validity=60s"}]"#;
    let deployment = format!("deployment cronjob-controller-manager -n {namespace}");
    cluster.kubectl(&format!("patch {deployment} --type=json -p {short}"));
    cluster.kubectl(&format!("rollout status {deployment} --timeout=180s"));
    // They would replace a short certificate by a long one.
    let pods = format!("get pods -n {namespace} -o name");
    eventually("the end of the old managers", 60, || {
        (cluster.kubectl(&pods).lines().count() == 3).then_some(())
    });
    let secret = format!("secret cronjob-webhook-service -n {namespace}");
    // The first certificate is still a long one.
    cluster.kubectl(&format!("delete {secret}"));
    let content = format!("get {secret} -o jsonpath={{.data.tls\\.crt}}");
    let reviews = Reviews::start(cluster, CRONJOBS, &sample(&deployed, "v1"));
    for number in 1..=10 {
        let old = cluster.try_kubectl(&content).unwrap_or_default();
        if number == 5 {
            cluster.kubectl(&format!("delete {secret}"));
        }
        eventually("a new certificate", 90, || {
            let new = cluster.try_kubectl(&content).ok()?;
            (!new.is_empty() && new != old).then_some(())
        });
        println!("    certificate {number}");
    }
    none_failed(reviews, 10_000);
    deployed.undeploy();
}

/// A running operator that made its certificates itself gets those of cert-manager, and the other way round.
pub fn switched_certificates(cluster: &Cluster) {
    let deployed = Deployed::new(cluster, "cronjob");
    for certificates in ["cert-manager", "self-managed"] {
        println!("    {certificates}");
        output(
            deployed
                .run("kbr")
                .args(["edit", "--certificates", certificates]),
        );
        output(deployed.run("make").arg("manifests"));
        let reviews = Reviews::start(cluster, CRONJOBS, &sample(&deployed, "v1"));
        let begin = Instant::now();
        output(deployed.run("make").args(["deploy", "IMG=cronjob:v1"]));
        sleep(Duration::from_secs(30));
        let (_, failures) = reviews.end();
        // The API server has one CA at a time for managers of both kinds.
        if let (Some((first, failure)), Some((last, _))) = (failures.first(), failures.last()) {
            let (first, last) = (*first - begin, *last - begin);
            println!("    reviews failed between {first:.1?} and {last:.1?}: {failure}");
        }
        let reviews = Reviews::start(cluster, CRONJOBS, &sample(&deployed, "v1"));
        sleep(Duration::from_secs(10));
        none_failed(reviews, 1_000);
    }
    deployed.undeploy();
}

/// How often the managers have loaded a certificate of the webhooks.
fn loaded(deployed: &Deployed<'_>) -> usize {
    let pods = "-l control-plane=controller-manager --tail=-1";
    let logs = format!("logs -n {} {pods}", deployed.namespace());
    let logs = deployed.cluster.kubectl(&logs);
    logs.matches("loaded the certificate of webhooks").count()
}

/// `kbr update` brings a project to this version of kbr, and `make deploy` puts it in place of the one that runs.
pub fn update(cluster: &Cluster) {
    let folder = Path::new(REPOSITORY).join("target/e2e/cronjob-of-old");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    let mut archive = Command::new("git");
    archive.current_dir(REPOSITORY);
    let mut archive = archive
        .args(["archive", OLD, "testdata/cronjob"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("git runs");
    let mut tar = Command::new("tar");
    tar.args(["x", "--strip-components=2"]).current_dir(&folder);
    output(tar.stdin(archive.stdout.take().expect("a pipe")));
    assert!(
        archive.wait().expect("git ends").success(),
        "git archive {OLD}"
    );

    let deployed = Deployed {
        cluster,
        name: "cronjob",
        target: folder.with_extension("target"),
        folder,
    };
    deployed.build("old");
    deployed.deploy("old");
    output(
        deployed
            .run("kubectl")
            .args(["apply", "-k", "config/samples"]),
    );

    println!("{}", output(deployed.run("kbr").arg("update")));
    deployed.build("new");
    let reviews = Reviews::start(cluster, CRONJOBS, &sample(&deployed, "v1"));
    output(deployed.run("make").args(["deploy", "IMG=cronjob:new"]));
    sleep(Duration::from_secs(35));
    none_failed(reviews, 5_000);
    let images = format!(
        "get pods -n {} -o jsonpath={{.items[*].spec.containers[*].image}}",
        deployed.namespace()
    );
    assert_eq!(cluster.kubectl(&images), "cronjob:new cronjob:new");
    let jobs = "get jobs -n default -o name";
    let before = cluster.kubectl(jobs);
    eventually("the new version starts runs", 90, || {
        (cluster.kubectl(jobs) != before).then_some(())
    });
    deployed.undeploy();
}
