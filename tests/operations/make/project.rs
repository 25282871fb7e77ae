//! One empty cluster, and the emitted projects whose Makefile is tested on it.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;

use crate::support::goldens::{check_out, share_runtime};
use crate::support::platform;
use crate::support::running::{Ended, Running};
use crate::support::{Compiling, Run, assets, compiles_into, compiling, kbr, target, tree};

/// A new cluster, in which the project is not installed.
///
/// The controller that deletes namespaces runs.
const BARE: &str = r#"//! An API server with nothing installed, until standard input ends.

use kbr_testing::TestEnv;

fn main() -> Result<(), kbr_testing::TestEnvError> {
    let env = TestEnv::builder(env!("CARGO_MANIFEST_DIR"))
        .without_manifests()
        .kubernetes_controllers(&["namespace-controller"])
        .start()?;
    println!("KUBECONFIG={}", env.kubeconfig().display());
    let _ = std::io::stdin().read_line(&mut String::new());
    Ok(())
}
"#;

/// An emitted project, and the kubeconfig of a cluster.
pub struct Project {
    pub folder: PathBuf,
    pub kubeconfig: PathBuf,
}

/// A project, and its cluster while it runs.
struct Shared {
    project: Project,
    /// Its standard input is closed when this process ends, and then the cluster ends.
    _cluster: Child,
    /// Makes another `cargo test` wait, since it would use the same folder.
    _lock: File,
}

/// The project that all tests share, not installed, while no other test compiles. It has no webhooks, so
/// it needs no cert-manager.
pub fn project() -> (&'static Project, Compiling) {
    static SHARED: LazyLock<Shared> = LazyLock::new(Shared::start);
    let alone = compiling();
    let project = &SHARED.project;
    // A failed test may have left objects.
    let clean = project.kubectl("delete --ignore-not-found --timeout=120s -k config/default");
    clean.success();
    (project, alone)
}

impl Shared {
    fn start() -> Self {
        let parent = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let lock = File::create(parent.join("make.lock")).expect("a lock");
        lock.lock().expect("the lock");
        let folder = empty(parent.join("make"));
        for line in [
            "init --domain tutorial.kubebuilder.io --project-name made",
            "create api --group batch --version v1 --kind CronJob",
            "manifests",
        ] {
            let words: Vec<&str> = line.split_whitespace().collect();
            kbr(&folder, &words).success();
        }
        share_runtime(&folder);
        fs::create_dir(folder.join("target")).expect("a folder that git ignores");
        fs::write(folder.join("examples/bare.rs"), BARE).expect("the file");

        let mut command = command("cargo", &folder);
        command.args(["run", "--locked", "--quiet", "--example", "bare"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut cluster = command.spawn().expect("cargo runs");
        let mut lines = BufReader::new(cluster.stdout.take().expect("a pipe")).lines();
        let line = lines.next().expect("it starts").expect("text");
        let path = line.strip_prefix("KUBECONFIG=").expect("a kubeconfig");
        let project = Project {
            folder,
            kubeconfig: path.into(),
        };
        // The last object that the API server creates for itself.
        let wait = project.kubectl("wait --for=create --timeout=60s service/kubernetes");
        wait.success();
        Self {
            project,
            _cluster: cluster,
            _lock: lock,
        }
    }
}

impl Project {
    /// A copy of a golden with webhooks, with the same cluster.
    pub fn with_webhooks(&self, golden: &str) -> Self {
        let folder = empty(self.folder.with_file_name("make-webhooks"));
        check_out(golden, &folder);
        fs::create_dir(folder.join("target")).expect("a folder that git ignores");
        Self {
            folder,
            kubeconfig: self.kubeconfig.clone(),
        }
    }

    /// Runs `make` with the arguments in `line` against the cluster, until it ends.
    pub fn make(&self, line: &str) -> Ended {
        self.start_make(line).wait()
    }

    /// Runs `make` with the arguments in `line` for a user who has set nothing but has the binaries installed.
    pub fn make_with_installed_binaries(&self, line: &str) -> Ended {
        let data = empty(self.folder.join("target/data"));
        install(&data);
        let mut command = self.make_command(line);
        command.env_remove("KUBEBUILDER_ASSETS");
        command.env("XDG_DATA_HOME", data);
        Running::start(command, &self.folder.join("target/make")).wait()
    }

    /// The same for the Kubernetes user with that name, with only the rights of that user.
    pub fn make_as(&self, user: &str, line: &str) -> Ended {
        let mut command = self.make_command(line);
        let kubectl = assets().join("kubectl");
        command.env("KUBECTL", format!("{} --as={user}", kubectl.display()));
        Running::start(command, &self.folder.join("target/make")).wait()
    }

    /// Starts `make` with the arguments in `line` against the cluster.
    pub fn start_make(&self, line: &str) -> Running {
        let command = self.make_command(line);
        Running::start(command, &self.folder.join("target/make"))
    }

    fn make_command(&self, line: &str) -> Command {
        let mut command = command("make", &self.folder);
        command.args(line.split_whitespace());
        command.env("KUBECONFIG", &self.kubeconfig);
        command
    }

    /// Starts the operator as it is deployed, except for the container.
    pub fn start_operator(&self, kubeconfig: &Path) -> Running {
        let mut command = command("cargo", &self.folder);
        let line = "run --locked --bin made -- --health-probe-bind-address=0";
        command.args(line.split(' '));
        command.env("KUBECONFIG", kubeconfig);
        Running::start(command, &self.folder.join("target/operator"))
    }

    /// Runs kubectl with the arguments in `line` against the cluster.
    pub fn kubectl(&self, line: &str) -> Run {
        self.kubectl_as(&self.kubeconfig, line)
    }

    pub fn kubectl_as(&self, kubeconfig: &Path, line: &str) -> Run {
        let program = assets().join("kubectl").display().to_string();
        let mut command = command(&program, &self.folder);
        command.args(line.split_whitespace());
        command.env("KUBECONFIG", kubeconfig);
        command.output().expect("kubectl runs").into()
    }

    /// Every object of the cluster as `Kind namespace name`, except those that the API server itself
    /// creates at any time.
    pub fn inventory(&self) -> BTreeSet<String> {
        let types = self.kubectl("api-resources --verbs=list --output=name");
        let types = types.success().stdout;
        let own = [
            "apiservices.",
            "componentstatuses",
            "events",
            "ipaddresses.",
        ];
        let types = types
            .lines()
            .filter(|name| !own.iter().any(|own| name.starts_with(own)));
        let types = types.collect::<Vec<_>>().join(",");
        let columns = "KIND:.kind,NAMESPACE:.metadata.namespace,NAME:.metadata.name";
        let objects = self.kubectl(&format!(
            "get {types} --all-namespaces --no-headers --output=custom-columns={columns}"
        ));
        let objects = objects.success().stdout;
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let objects = objects.lines().map(words);
        objects
            .filter(|object| !object.starts_with("Lease kube-system "))
            .collect()
    }

    /// The files that git would track.
    pub fn files(&self) -> std::collections::BTreeMap<String, String> {
        let mut files = tree(&self.folder);
        files.retain(|path, _| !path.starts_with("dist/"));
        files
    }
}

/// Creates an empty folder instead of what an earlier run or test left.
fn empty(folder: PathBuf) -> PathBuf {
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("the folder is removed");
    }
    fs::create_dir(&folder).expect("a folder");
    folder
}

/// Puts the binaries where `kbr envtest` installs them.
fn install(data: &Path) {
    let version = Command::new(assets().join("kube-apiserver"))
        .arg("--version")
        .output();
    let version = String::from_utf8(version.expect("it runs").stdout).expect("UTF-8");
    let version = version.trim().strip_prefix("Kubernetes v");
    let name = format!("{}-{}", version.expect("a version"), platform());
    let folder = data.join("kubebuilder-envtest/k8s").join(name);
    fs::create_dir_all(&folder).expect("the folder");
    for name in ["etcd", "kube-apiserver", "kubectl"] {
        std::os::unix::fs::symlink(assets().join(name), folder.join(name)).expect("a link");
    }
}

/// A program in the project's folder, with all variables that the Makefile lets a user set.
fn command(program: &str, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).stdin(Stdio::null());
    compiles_into(&mut command, &target());
    command.env("KBR", env!("CARGO_BIN_EXE_kbr"));
    command.env("KUBECTL", assets().join("kubectl"));
    command.env("KUBEBUILDER_ASSETS", assets());
    // What kubectl cached from another API server on the same port would be wrong.
    command.env("KUBECACHEDIR", folder.join("target/cache"));
    // The tests may have been started by make, or for debugging.
    for name in ["MAKEFLAGS", "MAKELEVEL", "MFLAGS", "RUST_LOG"] {
        command.env_remove(name);
    }
    command
}
