//! An API server of its own, with nothing installed, until it is dropped.

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Run, assets};

pub struct Cluster {
    folder: tempfile::TempDir,
    port: u16,
    processes: Vec<Child>,
}

impl Cluster {
    pub fn start() -> Self {
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
        cluster.spawn(
            "kube-apiserver",
            &[
                &format!("--etcd-servers={etcd}"),
                &format!("--secure-port={}", cluster.port),
                "--bind-address=127.0.0.1",
                &format!("--cert-dir={folder}/certs"),
                &format!("--token-auth-file={folder}/tokens"),
                "--authorization-mode=AlwaysAllow",
                "--service-account-issuer=https://localhost",
                &format!("--service-account-key-file={key}"),
                &format!("--service-account-signing-key-file={key}"),
                "--service-cluster-ip-range=10.0.0.0/24",
            ],
        );
        let deadline = Instant::now() + Duration::from_secs(120);
        while cluster.kubectl(&["get", "--raw=/readyz"], "").code() != Some(0) {
            assert!(Instant::now() < deadline, "the API server does not start");
            std::thread::sleep(Duration::from_millis(300));
        }
        cluster
    }

    fn spawn(&mut self, program: &str, args: &[&str]) {
        let mut command = Command::new(assets().join(program));
        command
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        self.processes.push(command.spawn().expect("it starts"));
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
        // One that does not read its input may be over already.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        kubectl.wait_with_output().expect("kubectl ends").into()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for process in self.processes.iter_mut().rev() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}
