//! A separate API server with nothing installed, which runs until it is dropped.

use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use super::port::free_port;
use super::{Run, assets};

/// Runs a server until standard input is closed, which happens also when the tests are interrupted: the server is in
/// another process group, which Ctrl-C does not reach.
const KEPT: &str = r#"
"$@" &
read -r _
kill -9 $!
wait
"#;

pub struct Cluster {
    folder: tempfile::TempDir,
    port: u16,
    processes: Vec<Child>,
}

impl Cluster {
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts a cluster whose API server has these additional options.
    pub fn start_with(options: &[&str]) -> Self {
        let mut cluster = Self {
            folder: tempfile::tempdir().expect("a folder"),
            port: free_port(),
            processes: Vec::new(),
        };
        let folder = cluster.folder.path().display().to_string();
        fs::write(
            cluster.folder.path().join("tokens"),
            "token,admin,1,system:masters\n",
        )
        .expect("the file");
        let (etcd, peers) = (free_port(), free_port());
        let etcd = format!("http://127.0.0.1:{etcd}");
        let peers = format!("http://127.0.0.1:{peers}");
        cluster.spawn(
            "etcd",
            &[
                &format!("--data-dir={folder}/etcd"),
                &format!("--listen-client-urls={etcd}"),
                &format!("--advertise-client-urls={etcd}"),
                &format!("--listen-peer-urls={peers}"),
                "--unsafe-no-fsync",
            ],
        );
        let key = format!("{folder}/certs/apiserver.key");
        let all = [
            format!("--etcd-servers={etcd}"),
            format!("--secure-port={}", cluster.port),
            "--bind-address=127.0.0.1".to_owned(),
            "--advertise-address=127.0.0.1".to_owned(),
            "--endpoint-reconciler-type=none".to_owned(),
            format!("--cert-dir={folder}/certs"),
            format!("--token-auth-file={folder}/tokens"),
            "--authorization-mode=AlwaysAllow".to_owned(),
            "--service-account-issuer=https://localhost".to_owned(),
            format!("--service-account-key-file={key}"),
            format!("--service-account-signing-key-file={key}"),
            "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
        ];
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        cluster.spawn("kube-apiserver", &[&all, options].concat());
        let kubeconfig = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{ "name": "it", "cluster": {
                "insecure-skip-tls-verify": true,
                "server": format!("https://127.0.0.1:{}", cluster.port),
            } }],
            "contexts": [{ "name": "it", "context": { "cluster": "it", "user": "it" } }],
            "current-context": "it",
            "users": [{ "name": "it", "user": { "token": "token" } }],
        });
        fs::write(cluster.kubeconfig(), kubeconfig.to_string()).expect("the file");
        let deadline = Instant::now() + Duration::from_secs(120);
        while cluster.kubectl(&["get", "--raw=/readyz"], "").code() != Some(0) {
            assert!(Instant::now() < deadline, "the API server does not start");
            std::thread::sleep(Duration::from_millis(300));
        }
        cluster
    }

    /// The kubeconfig of this cluster.
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }

    /// Starts a server, which ends when the cluster is dropped.
    pub fn spawn(&mut self, program: &str, args: &[&str]) {
        let mut command = Command::new("sh");
        command
            .args(["-c", KEPT, "sh"])
            .arg(assets().join(program))
            .args(args)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        self.processes.push(command.spawn().expect("it starts"));
    }

    /// Runs what a user types in that folder.
    pub fn shell(&self, folder: &Path, line: &str) -> Run {
        let path = std::env::var("PATH").unwrap_or_default();
        let mut shell = Command::new("sh");
        shell.args(["-c", line]).current_dir(folder);
        shell.env("PATH", format!("{}:{path}", assets().display()));
        shell.env("KUBECONFIG", self.kubeconfig());
        shell.env("KUBECACHEDIR", self.folder.path().join("cache"));
        let output = shell.stdin(Stdio::null()).output();
        output.expect("sh runs").into()
    }

    pub fn kubectl(&self, args: &[&str], input: &str) -> Run {
        let mut command = Command::new(assets().join("kubectl"));
        command.arg(format!("--server=https://127.0.0.1:{}", self.port));
        command.args([
            "--insecure-skip-tls-verify",
            "--token=token",
            "--kubeconfig=/dev/null",
        ]);
        command.arg(format!(
            "--cache-dir={}/cache",
            self.folder.path().display()
        ));
        command
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut kubectl = command.spawn().expect("kubectl starts");
        let mut stdin = kubectl.stdin.take().expect("a pipe");
        // A kubectl that does not read its input may have ended already.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        kubectl.wait_with_output().expect("kubectl ends").into()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for process in self.processes.iter_mut().rev() {
            drop(process.stdin.take());
            let _ = process.wait();
        }
    }
}
