//! A real API server with nothing installed, for tests that need no emitted project.
//!
//! All tests of a run share it; each test names its objects so that no other test uses them.

use std::fmt;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::port::free_port;
use super::{Run, assets, say};

/// Runs both servers until standard input is closed, which happens when the tests end.
///
/// The API server creates its own certificate, whose key also signs the tokens of service accounts.
const SERVERS: &str = r#"
"$0/etcd" --data-dir=etcd --unsafe-no-fsync --listen-peer-urls=http://127.0.0.1:0 \
    --listen-client-urls=http://127.0.0.1:$1 --advertise-client-urls=http://127.0.0.1:$1 \
    > etcd.log 2>&1 &
etcd=$!
"$0/kube-apiserver" --etcd-servers=http://127.0.0.1:$1 --bind-address=127.0.0.1 --secure-port=$2 \
    --advertise-address=127.0.0.1 \
    --cert-dir=keys --service-account-key-file=keys/apiserver.key \
    --service-account-signing-key-file=keys/apiserver.key \
    --service-account-issuer=https://kubernetes.default.svc --token-auth-file=tokens.csv \
    --service-cluster-ip-range=10.0.0.0/24 --authorization-mode=RBAC \
    --disable-admission-plugins=ServiceAccount --endpoint-reconciler-type=none \
    --runtime-config=api/all=true > kube-apiserver.log 2>&1 &
read -r _
kill -9 $! $etcd
wait
"#;

const TOKEN: &str = "admin";

/// Eight seconds are typical.
const START_TIMEOUT: Duration = Duration::from_secs(120);

/// A response of the API server.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub warnings: Vec<String>,
    pub body: Value,
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let body = match self.body["kind"] == "Status" {
            true => &self.body["message"],
            false => &self.body,
        };
        write!(f, "{} {body}", self.status)?;
        self.warnings
            .iter()
            .try_for_each(|warning| write!(f, "\n{warning}"))
    }
}

pub struct ApiServer {
    folder: PathBuf,
    port: u16,
    agent: ureq::Agent,
    kubeconfig: PathBuf,
    /// Its standard input is closed when this process ends, and then the servers end.
    _servers: Child,
    /// Makes another `cargo test` wait, since it would use the same folder.
    _lock: File,
}

/// The API server that all tests share.
pub fn api_server() -> &'static ApiServer {
    static SHARED: LazyLock<ApiServer> = LazyLock::new(ApiServer::start);
    &SHARED
}

impl ApiServer {
    fn start() -> Self {
        let parent = Path::new(env!("CARGO_TARGET_TMPDIR"));
        // Another target may run at the same time.
        let folder = parent.join(concat!(env!("CARGO_CRATE_NAME"), "-api-server"));
        let lock = File::create(folder.with_extension("lock")).expect("a lock");
        if lock.try_lock().is_err() {
            say(
                "Waiting for the tests of another process, which have an API server of this target",
            );
            lock.lock().expect("the lock");
        }
        if folder.exists() {
            fs::remove_dir_all(&folder).expect("the folder is removed");
        }
        fs::create_dir(&folder).expect("a folder");
        let tokens = format!("{TOKEN},admin,admin,system:masters\n");
        fs::write(folder.join("tokens.csv"), tokens).expect("the file");

        let [etcd, port] = [(); 2].map(|()| free_port());
        let kubeconfig = folder.join("kubeconfig");
        fs::write(&kubeconfig, kubeconfig_of(port).to_string()).expect("the file");
        let mut servers = Command::new("sh");
        servers.arg("-c").arg(SERVERS).arg(assets());
        servers.args([etcd.to_string(), port.to_string()]);
        servers.current_dir(&folder).stdin(Stdio::piped());
        // Ctrl-C would end the shell, and neither of the servers at once.
        servers.process_group(0);
        let server = Self {
            port,
            agent: agent(),
            kubeconfig,
            _servers: servers.spawn().expect("sh runs"),
            _lock: lock,
            folder,
        };
        let start = Instant::now();
        while server.kubectl("get --raw /readyz", "").code() != Some(0) {
            let log = server.folder.join("kube-apiserver.log");
            let text = fs::read_to_string(&log).unwrap_or_default();
            let has_ended = text.contains("\"command failed\"");
            let is_late = start.elapsed() >= START_TIMEOUT;
            assert!(!has_ended && !is_late, "{}:\n{text}", log.display());
            thread::sleep(Duration::from_millis(200));
        }
        let wait = "wait --for=create --timeout=60s namespace/default";
        server.kubectl(wait, "").success();
        server
    }

    /// Runs kubectl with the arguments in `line`, and `input` on its standard input.
    pub fn kubectl(&self, line: &str, input: &str) -> Run {
        let mut command = Command::new(assets().join("kubectl"));
        command.args(line.split_whitespace());
        command.env("KUBECONFIG", &self.kubeconfig);
        command.env("KUBECACHEDIR", self.folder.join("cache"));
        command.stdin(Stdio::piped());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut kubectl = command.spawn().expect("kubectl runs");
        let mut stdin = kubectl.stdin.take().expect("a pipe");
        // If kubectl ends before it has read everything, its output says why.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        kubectl.wait_with_output().expect("kubectl ends").into()
    }

    /// Sends a request without kubectl, which takes a hundredth of the time; `APPLY` is a PATCH.
    pub fn request(&self, method: &str, path: &str, body: &Value) -> Answer {
        let (method, kind) = match method {
            "APPLY" => ("PATCH", "application/apply-patch+yaml"),
            method => (method, "application/json"),
        };
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("https://127.0.0.1:{}{path}", self.port))
            .header("Authorization", format!("Bearer {TOKEN}"))
            .header("Content-Type", kind);
        let request = match body {
            Value::Null => request.body(String::new()),
            body => request.body(body.to_string()),
        };
        let mut answer = self
            .agent
            .run(request.expect("a request"))
            .expect("a response");
        let warnings = answer.headers().get_all("Warning").iter();
        let warnings = warnings.map(|text| String::from_utf8_lossy(text.as_bytes()).into_owned());
        let warnings = warnings.collect();
        let text = answer.body_mut().read_to_string().expect("a text");
        Answer {
            status: answer.status().as_u16(),
            warnings,
            // Paths that the API server does not serve are answered with plain text.
            body: serde_json::from_str(&text).unwrap_or(Value::String(text)),
        }
    }

    /// The response of the API server to a GET of that path.
    pub fn get(&self, path: &str) -> Value {
        let answer = self.kubectl(&format!("get --raw {path}"), "").success();
        serde_json::from_str(&answer.stdout).expect("JSON")
    }
}

/// A client that trusts the self-signed certificate of the API server.
fn agent() -> ureq::Agent {
    let tls = ureq::tls::TlsConfig::builder().disable_verification(true);
    let config = ureq::Agent::config_builder().http_status_as_error(false);
    config.tls_config(tls.build()).build().into()
}

fn kubeconfig_of(port: u16) -> Value {
    let server = format!("https://127.0.0.1:{port}");
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{
            "name": "tests",
            "cluster": { "insecure-skip-tls-verify": true, "server": server },
        }],
        "contexts": [{ "name": "tests", "context": { "cluster": "tests", "user": "admin" } }],
        "current-context": "tests",
        "users": [{ "name": "admin", "user": { "token": TOKEN } }],
    })
}
