//! A golden project in the cluster.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::cluster::{Cluster, REPOSITORY, eventually, output};

/// A golden project, copied to a folder of its own, and deployed from there.
pub struct Deployed<'a> {
    pub cluster: &'a Cluster,
    pub name: &'static str,
    pub folder: PathBuf,
    /// Where its release binary is built. Projects with different names share one; cargo would mix up two with the same.
    pub target: PathBuf,
}

impl<'a> Deployed<'a> {
    /// Builds the image `NAME:v1` and deploys it.
    pub fn new(cluster: &'a Cluster, name: &'static str) -> Self {
        let deployed = Self::built(cluster, name);
        deployed.deploy("v1");
        deployed
    }

    /// Builds the image `NAME:v1`.
    pub fn built(cluster: &'a Cluster, name: &'static str) -> Self {
        let deployed = Self {
            cluster,
            name,
            folder: copied(name),
            target: target(),
        };
        deployed.build("v1");
        deployed
    }

    /// Builds the image with this tag.
    pub fn build(&self, tag: &str) {
        compile(&self.folder, self.name, &self.target);
        self.load(tag);
    }

    /// Makes the image with this tag.
    pub fn load(&self, tag: &str) {
        let binary = self.target.join("release").join(self.name);
        let binary = format!("{}=/manager", binary.display());
        Cluster::load(&format!("{}:{tag}", self.name), &[&binary]);
    }

    /// `make deploy` of the image with this tag.
    #[track_caller]
    pub fn deploy(&self, tag: &str) {
        let image = format!("IMG={}:{tag}", self.name);
        output(self.run("make").args(["deploy", &image]));
        assert_eq!(
            self.alarms(),
            Vec::<String>::new(),
            "a deployment without alarming events"
        );
    }

    /// The warnings in the operator's namespace, without those that every pod or Service may have.
    fn alarms(&self) -> Vec<String> {
        let warnings = format!(
            "get events -n {} --field-selector type=Warning",
            self.namespace()
        );
        let events = self.cluster.json(&warnings);
        let events = events["items"].as_array().expect("a list").iter();
        let warnings = events.map(|event| {
            let text = |field: &str| event[field].as_str().unwrap_or_default();
            format!("{}: {}", text("reason"), text("message"))
        });
        warnings.filter(|warning| !is_usual(warning)).collect()
    }

    /// `make undeploy`, which leaves nothing behind.
    #[track_caller]
    pub fn undeploy(self) {
        output(self.run("make").arg("undeploy"));
        self.left_nothing();
    }

    /// Nothing of it is left in the cluster.
    #[track_caller]
    pub fn left_nothing(self) {
        let namespace = format!("get namespace {}", self.namespace());
        assert!(self.cluster.try_kubectl(&namespace).is_err(), "{namespace}");
        let rest = "get deployments,services,pods,jobs -n default -o name";
        eventually(
            "the garbage collector deletes what objects owned",
            300,
            || {
                let rest = self.cluster.kubectl(rest);
                (rest.trim() == "service/kubernetes").then_some(())
            },
        );
    }

    /// The namespace of the operator.
    pub fn namespace(&self) -> String {
        format!("{}-system", self.name)
    }

    /// A command in the project's folder.
    pub fn run(&self, name: &str) -> Command {
        let mut command = self.cluster.command(name);
        command
            .current_dir(&self.folder)
            .env("CARGO_TARGET_DIR", &self.target);
        command
    }

    /// The pod that leads.
    pub fn leader(&self) -> Option<String> {
        let lease = format!(
            "get lease {}-controller-manager -n {}",
            self.name,
            self.namespace()
        );
        let holder = format!("{lease} -o jsonpath={{.spec.holderIdentity}}");
        let holder = self.cluster.try_kubectl(&holder).ok()?;
        let pods = format!(
            "get pods -n {} -o jsonpath={{.items[*].metadata.name}}",
            self.namespace()
        );
        let pods = self.cluster.try_kubectl(&pods).ok()?;
        let mut pods = pods.split(' ').filter(|pod| !pod.is_empty());
        pods.find(|pod| holder.starts_with(pod)).map(str::to_owned)
    }

    /// The node of a pod of the operator.
    #[track_caller]
    pub fn node_of(&self, pod: &str) -> String {
        let node = format!(
            "get pod {pod} -n {} -o jsonpath={{.spec.nodeName}}",
            self.namespace()
        );
        self.cluster.kubectl(&node)
    }
}

/// A copy of a golden project in a folder of its own.
///
/// It has the vendored crates, to which there is a link, and their times, so that cargo compiles them once for all.
fn copied(name: &str) -> PathBuf {
    let folder = Path::new(REPOSITORY).join("target/e2e").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    let source = Path::new(REPOSITORY).join("testdata").join(name).join(".");
    output(Command::new("cp").arg("-aL").args([&source, &folder]));
    // What somebody has built where the golden is.
    let _ = std::fs::remove_dir_all(folder.join("target"));
    folder
}

/// The target folder of the goldens.
fn target() -> PathBuf {
    Path::new(REPOSITORY).join("target/emitted")
}

fn compile(folder: &Path, name: &str, target: &Path) {
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "--locked", "--quiet", "--bin", name]);
    cargo.env("CARGO_TARGET_DIR", target).current_dir(folder);
    output(&mut cargo);
}

/// Compiles a golden, as its test will; that takes minutes, and needs no cluster.
pub fn compile_golden(name: &str) {
    compile(&copied(name), name, &target());
}

/// Whether a warning says nothing about the operator.
fn is_usual(warning: &str) -> bool {
    // The API server repairs addresses of Services that it has just given out.
    let repaired = warning.starts_with("ClusterIPNotAllocated: ");
    // The kubelet of a busy machine starts a pod before it has read kube-root-ca.crt, and tries again.
    let early = warning.starts_with("FailedMount: ")
        && warning.contains("\"kube-api-access-")
        && warning.contains("failed to sync configmap cache");
    repaired || early
}

/// The sample of this version, as an object.
pub fn sample(deployed: &Deployed<'_>, version: &str) -> Value {
    let file = format!("config/samples/batch_{version}_cronjob.yaml");
    let mut kubectl = deployed.run("kubectl");
    kubectl.args(["create", "--dry-run=client", "-o", "json", "-f", &file]);
    let object: Value = serde_json::from_str(&output(&mut kubectl)).expect("JSON");
    json!({
        "apiVersion": object["apiVersion"],
        "kind": object["kind"],
        "metadata": {},
        "spec": object["spec"],
    })
}
