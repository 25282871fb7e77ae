//! The examples of the goldens' READMEs, with pods that run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cluster::{Cluster, REPOSITORY, output};
use crate::deployed::Deployed;
use crate::documents;

/// The images of the examples.
pub fn load_images() {
    // The first is what the image starts: with `env`, a pod's arguments are a command, as in the image that everybody uses.
    let applets = ["env", "sh", "date", "echo", "sleep", "nc"];
    let applets = applets.map(|applet| format!("/bin/busybox=/bin/{applet}"));
    let applets: Vec<&str> = applets.iter().map(String::as_str).collect();
    Cluster::load("busybox:latest", &applets);
    // A server like any other, as far as an operator can see.
    Cluster::load("nginx:1.29", &["/usr/bin/memcached"]);
    Cluster::load(
        "memcached:1.6.26-alpine",
        &["/usr/bin/memcached=/usr/local/bin/memcached"],
    );
    Cluster::load(
        "perl:latest",
        &[&format!("{}=/usr/bin/perl", busy().display())],
    );
}

/// A program that is busy for a while, as the one that computes digits of pi.
fn busy() -> PathBuf {
    let folder = Path::new(REPOSITORY).join("target/e2e");
    fs::create_dir_all(&folder).expect("a folder");
    let (source, program) = (folder.join("busy.c"), folder.join("busy"));
    fs::write(
        &source,
        "#include <unistd.h>\nint main(void) { return sleep(20); }\n",
    )
    .expect("a file");
    output(Command::new("cc").arg(&source).arg("-o").arg(&program));
    program
}

fn lines(text: &str) -> Vec<&str> {
    text.lines().map(str::trim_end).collect()
}

/// Types what the README of a golden shows, and compares what is printed; then applies the object of its document.
pub fn run(cluster: &Cluster, name: &'static str) {
    load_images();
    let deployed = Deployed::new(cluster, name);
    let readme = fs::read_to_string(deployed.folder.join("README.md")).expect("README.md");
    let example = readme.split("```console\n").nth(1).expect("an example");
    let example = example.split("```").next().expect("its end");
    for step in example.split("$ ").skip(1) {
        let (command, expected) = step.split_once('\n').expect("a command and its output");
        // Stands for the kubelet where no containers run.
        if command.contains("--subresource=status") {
            continue;
        }
        let mut shell = deployed.run("sh");
        shell.args(["-c", &format!("{command} 2>&1")]);
        let printed = shell.output().expect("sh runs").stdout;
        let printed = String::from_utf8(printed).expect("UTF-8");
        assert_eq!(lines(&printed), lines(expected), "{command}");
    }
    documents::run(&deployed);
    deployed.undeploy();
}

/// The walk that each project has: refused on a context that was not named, and it leaves nothing behind.
pub fn make_test_e2e(cluster: &Cluster) {
    load_images();
    let project = Deployed::built(cluster, "memcached");
    let refused = project
        .run("make")
        .args(["test-e2e", "IMG=memcached:v1"])
        .output();
    let refused = refused.expect("make runs");
    assert!(!refused.status.success());
    let context = cluster.kubectl("config current-context");
    let hint = format!("make test-e2e CONTEXT={}", context.trim());
    let error = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(error.contains(&hint), "{error}");
    let context = format!("CONTEXT={}", context.trim());
    output(
        project
            .run("make")
            .args(["test-e2e", "IMG=memcached:v1", &context]),
    );
    let namespace = format!("get namespace {}", project.namespace());
    assert!(cluster.try_kubectl(&namespace).is_err());
}
