// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! Shared by the tests: processes that they start and stop, and the Tasks that they create.

use std::fmt::Debug;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use api::v1::{Task, TaskSpec};
use k8s_openapi::serde::Serialize;
use k8s_openapi::serde::de::DeserializeOwned;
use kbr_runtime::{BindAddress, Flags, Manager, ManagerError};
use kbr_testing::{TestEnv, TestEnvError};
use kube::api::PostParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::NamespaceResourceScope;
use kube::{Api, Config, Resource};
use serde_json::Value;
use tokio::task::JoinHandle;

/// Far longer than anything that tests wait for should take.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// An API server for the operators that tests start. It serves watches from etcd, which compacts old
/// versions soon.
pub fn servers() -> &'static TestEnv {
    static ENV: LazyLock<Result<TestEnv, TestEnvError>> = LazyLock::new(|| {
        TestEnv::builder(env!("CARGO_MANIFEST_DIR"))
            .api_server_args(&["--watch-cache=false", "--etcd-compaction-interval=5s"])
            .start()
    });
    match &*ENV {
        Ok(env) => env,
        Err(error) => panic!("{error}"),
    }
}

/// Creates a Task.
pub async fn create(api: &Api<Task>, name: &str, spec: TaskSpec) -> Task {
    let object = Task::new(name, spec);
    api.create(&PostParams::default(), &object).await.unwrap()
}

/// Creates an object that has nothing but a name.
pub async fn create_empty<K>(namespace: &str, name: &str)
where
    K: Clone + Debug + Default + DeserializeOwned + Serialize,
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
{
    let mut object = K::default();
    object.meta_mut().name = Some(name.to_owned());
    let api = Api::<K>::namespaced(servers().admin(), namespace);
    api.create(&PostParams::default(), &object).await.unwrap();
}

/// Creates a Task with an empty spec, and waits until it is reconciled.
pub async fn create_and_wait(env: &TestEnv, api: &Api<Task>, name: &str) -> Task {
    create(api, name, TaskSpec::default()).await;
    env.wait_for(api, name, is_reconciled).await.unwrap()
}

/// Whether the status was written for the current spec.
pub fn is_reconciled(task: Option<&Task>) -> bool {
    task.is_some_and(|task| {
        let status = task.status.as_ref();
        status.is_some_and(|status| status.observed_generation == task.metadata.generation)
    })
}

/// Makes an operator serve its metrics to everyone.
pub const METRICS: [&str; 2] = [
    "--metrics-bind-address=127.0.0.1:0",
    "--metrics-secure=false",
];

/// The value of a sample in a scrape.
pub fn sample(scrape: &str, name: &str) -> Option<f64> {
    let mut values = scrape.lines().filter_map(|line| line.strip_prefix(name));
    let value = values.find_map(|value| value.strip_prefix(' '))?;
    Some(value.parse().unwrap())
}

/// A manager for this process, which may do everything, and to which the test adds its controllers.
pub async fn manager(env: &TestEnv) -> Manager {
    let kubeconfig = Kubeconfig::read_from(env.kubeconfig()).unwrap();
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options);
    manager_of(config.await.unwrap(), |_| {})
}

/// The same for a client configuration, with other flags.
pub fn manager_of(config: Config, change: impl FnOnce(&mut Flags)) -> Manager {
    let mut flags = Flags::default();
    flags.health_probe_bind_address = BindAddress::Off;
    change(&mut flags);
    Manager::with_config(flags, config).unwrap()
}

/// A manager that runs in this process.
pub struct Running {
    stop: Box<dyn FnOnce() + Send>,
    task: JoinHandle<Result<(), ManagerError>>,
}

impl Running {
    pub fn start(mut manager: Manager) -> Self {
        let stop = manager.stop_token();
        Self {
            stop: Box::new(move || stop.cancel()),
            task: tokio::spawn(async move { manager.run_until_stopped().await }),
        }
    }

    pub fn is_running(&self) -> bool {
        !self.task.is_finished()
    }

    /// Stops it; it must not have ended by itself.
    pub async fn stop(self) {
        assert!(self.is_running(), "it has ended");
        (self.stop)();
        self.task.await.unwrap().unwrap();
    }
}

/// An address of this machine that nobody listens on.
pub fn free_address() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

/// Waits until `find` returns something, and returns it. Others go on meanwhile.
pub async fn eventually<T>(what: &str, mut find: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "timed out waiting for {what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// How many operators have been started.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// The manager's binary, running for the Tasks of one namespace. Dropping it kills it.
pub struct Operator {
    process: Process,
    log: PathBuf,
}

impl Operator {
    pub fn start(env: &TestEnv, namespace: &str, arguments: &[&str]) -> Self {
        Self::start_with(env.manager_kubeconfig(), env, namespace, arguments)
    }

    /// Starts an operator with another kubeconfig, such as that of a proxy.
    pub fn start_with(
        kubeconfig: &Path,
        env: &TestEnv,
        namespace: &str,
        arguments: &[&str],
    ) -> Self {
        Self::start_in(&[], kubeconfig, env, namespace, arguments)
    }

    /// Starts an operator with these environment variables.
    pub fn start_in(
        variables: &[(&str, &str)],
        kubeconfig: &Path,
        env: &TestEnv,
        namespace: &str,
        arguments: &[&str],
    ) -> Self {
        // Several may run for one namespace.
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let log = env.logs().join(format!("{namespace}-{count}.log"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_manager"));
        command
            .arg("--health-probe-bind-address=127.0.0.1:0")
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .args(arguments)
            .env("WATCH_NAMESPACE", namespace)
            .env_remove("RUST_LOG")
            // The first backtrace of a debug build takes more than a second.
            .env("RUST_BACKTRACE", "0")
            .envs(variables.iter().copied())
            .stderr(File::create(&log).unwrap());
        Self {
            process: Process::start(&mut command),
            log,
        }
    }

    /// Waits until it has logged `message`, and returns the first such line.
    pub fn logged(&mut self, message: &str) -> Value {
        self.logged_with(message, |_| true)
    }

    /// Waits until it has logged `message` in a line that `fits`, and returns the first such line.
    pub fn logged_with(&mut self, message: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let what = format!("`{message}` in {}", self.log.display());
        until(&what, || {
            let is_running = self.process.is_running();
            let line = self.lines(message).into_iter().find(&fits);
            assert!(line.is_some() || is_running, "it ended without {what}");
            line
        })
    }

    /// The first line with the given message, if any.
    pub fn find(&self, message: &str) -> Option<Value> {
        self.lines(message).into_iter().next()
    }

    /// All lines with the given message.
    pub fn lines(&self, message: &str) -> Vec<Value> {
        let mut lines = self.all();
        lines.retain(|line| line["message"] == message);
        lines
    }

    fn all(&self) -> Vec<Value> {
        let text = self.log();
        let whole = text
            .split_inclusive('\n')
            .filter(|line| line.ends_with('\n'));
        whole
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// All lines with the given levels.
    pub fn levels(&self, levels: &[&str]) -> Vec<Value> {
        let mut lines = self.all();
        lines.retain(|line| levels.iter().any(|level| line["level"] == *level));
        lines
    }

    /// The text of the whole log.
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    /// The status and the body of its response to `GET path`.
    pub fn probe(&mut self, path: &str) -> (u16, String) {
        let address = self.logged("serving health probes")["address"].clone();
        get(address.as_str().unwrap(), path)
    }

    /// The address at which it serves its metrics.
    pub fn metrics_address(&mut self) -> String {
        let line = self.logged("serving metrics");
        line["address"].as_str().unwrap().to_owned()
    }

    /// Scrapes its metrics; it must have been started with [`METRICS`].
    pub fn scrape(&mut self) -> String {
        let (status, text) = get(&self.metrics_address(), "/metrics");
        assert_eq!(status, 200, "{text}");
        text
    }

    pub fn signal(&self, name: &str) {
        self.process.signal(name);
    }

    pub fn is_running(&mut self) -> bool {
        self.process.is_running()
    }

    /// Waits until it exits.
    pub fn ended(&mut self) -> ExitStatus {
        self.process.ended()
    }
}

/// The status and the body of the response to `GET path`, once something listens.
pub fn get(address: &str, path: &str) -> (u16, String) {
    use std::io::{Read, Write};
    let mut stream = until("an open port", || {
        std::net::TcpStream::connect(address).ok()
    });
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"
    )
    .unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap();
    (status.parse().unwrap(), body.to_owned())
}

/// A process that a test starts. Dropping it kills it.
pub struct Process(Child);

impl Process {
    pub fn start(command: &mut Command) -> Self {
        Self(command.stdin(Stdio::null()).spawn().unwrap())
    }

    pub fn child(&mut self) -> &mut Child {
        &mut self.0
    }

    pub fn signal(&self, name: &str) {
        kill(name, &self.0.id().to_string());
    }

    pub fn is_running(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }

    pub fn ended(&mut self) -> ExitStatus {
        until("the end of a process", || self.0.try_wait().unwrap())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Sends a signal to a process, or to a process group if it has a leading minus.
pub fn kill(signal: &str, process: &str) {
    let mut kill = Command::new("kill");
    let sent = kill.args(["-s", signal, "--", process]).status();
    assert!(sent.unwrap().success());
}

/// The processes whose command lines contain `folder`, each as its number and its program.
pub fn processes(folder: &Path) -> Vec<(String, String)> {
    let output = Command::new("ps")
        .args(["-A", "-ww", "-o", "pid=,comm=,args="])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let folder = format!("{}/", folder.display());
    let lines = text.lines().filter(|line| line.contains(&folder));
    let words = lines.map(|line| {
        let mut words = line.split_whitespace().map(str::to_owned);
        let (number, program) = (words.next().unwrap(), words.next().unwrap());
        let name = program.rsplit('/').next().unwrap();
        (number, name.to_owned())
    });
    words.collect()
}

/// Waits until `find` returns something, and returns it.
pub fn until<T>(what: &str, mut find: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "timed out waiting for {what}");
        thread::sleep(Duration::from_millis(50));
    }
}

/// The name of the ServiceAccount that the manager is deployed with.
pub const MANAGER: &str = "system:serviceaccount:manager-system:manager-controller-manager";
