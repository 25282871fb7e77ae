//! The operator from a git repository, in an overlay of its own names: as Flux and as Argo CD's engine apply it.
//!
//! Flux' controllers and the engine's agent run on this machine, beside the cluster.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;

use crate::charts::is_reviewed;
use crate::cluster::{Cluster, REPOSITORY, eventually, output};
use crate::deployed::{Deployed, sample};
use crate::go_tool::QUICKLY;
use crate::reviews::{CRONJOBS, Reviews, none_failed};

/// The overlay's namespace, which begins the names as well.
const NAMESPACE: &str = "fleet";

const DEPLOYMENT: &str = "fleet-cronjob-controller-manager";

/// How often the repository is applied.
const SYNC: Duration = Duration::from_secs(5);

/// A program beside the cluster, which ends with the test.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Process {
    /// What it prints is in `target/e2e/gitops/NAME.log`.
    fn start(mut command: Command, name: &str) -> Self {
        let log = File::create(folder().join(name).with_extension("log")).expect("a log");
        command.stdout(log.try_clone().expect("a log")).stderr(log);
        Self(command.stdin(Stdio::null()).spawn().expect("it starts"))
    }
}

/// Applies what the repository has, again and again.
enum Tool {
    Argo,
    Flux,
}

impl Tool {
    fn start(&self, cluster: &Cluster, repository: &Repository) -> Vec<Process> {
        match self {
            Self::Argo => vec![argo(cluster, repository)],
            Self::Flux => flux(cluster).into(),
        }
    }

    /// Removes the objects of the operator's kind.
    fn remove_objects(&self, cluster: &Cluster) {
        cluster.kubectl(match self {
            Self::Argo => "delete cronjobs.batch.tutorial.kubebuilder.io --all",
            Self::Flux => {
                "delete kustomizations.kustomize.toolkit.fluxcd.io -n flux-system fleet-objects --timeout=180s"
            }
        });
    }

    /// Removes the operator.
    fn remove(&self, cluster: &Cluster, repository: &Repository) {
        match self {
            Self::Argo => repository.commit_nothing(),
            Self::Flux => {
                let kustomizations = "kustomizations.kustomize.toolkit.fluxcd.io -n flux-system";
                cluster.kubectl(&format!("delete {kustomizations} fleet --timeout=180s"));
            }
        }
    }
}

pub fn by_argo(cluster: &Cluster) {
    run(cluster, &Tool::Argo);
}

pub fn by_flux(cluster: &Cluster) {
    run(cluster, &Tool::Flux);
}

fn folder() -> PathBuf {
    Path::new(REPOSITORY).join("target/e2e/gitops")
}

/// A file in the chapter of the guide.
fn block(name: &str) -> String {
    let chapter = Path::new(REPOSITORY).join("src/guide/gitops.md");
    let chapter = fs::read_to_string(chapter).expect("the chapter");
    let begin = format!("```yaml\n# {name}\n");
    let block = chapter.split_once(&begin).expect("the file").1;
    block.split("```").next().expect("its end").to_owned()
}

/// The project's `config`, an overlay in `deploy`, an object of its kind in `objects`, and in `rendered` what kustomize
/// makes of the overlay.
struct Repository {
    folder: PathBuf,
}

impl Repository {
    fn of(project: &Deployed<'_>) -> Self {
        let repository = Self {
            folder: folder().join("repository"),
        };
        let _ = fs::remove_dir_all(folder());
        for inner in ["deploy", "objects", "rendered"] {
            fs::create_dir_all(repository.folder.join(inner)).expect("a folder");
        }
        let sample = project.folder.join("config/samples/batch_v1_cronjob.yaml");
        let object = fs::read_to_string(sample).expect("a sample");
        // No image for its Jobs can be pulled.
        let object = object.replace("cronjob-sample", "suspended");
        let object = object.replacen("spec:\n", "spec:\n  suspend: true\n", 1);
        fs::write(repository.folder.join("objects/object.yaml"), object).expect("a file");
        let config = project.folder.join("config");
        output(
            Command::new("cp")
                .arg("-a")
                .args([&config, &repository.folder]),
        );
        repository.git("init --quiet --initial-branch main");
        repository
    }

    fn git(&self, line: &str) {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=x", "-c", "user.email=x@example.com"]);
        output(git.args(line.split_whitespace()).current_dir(&self.folder));
    }

    /// The overlay of the guide, with that image and these further resources.
    fn commit(&self, cluster: &Cluster, tag: &str, more: &[&str]) {
        let resources: String = more.iter().map(|name| format!("- {name}\n")).collect();
        let overlay = block("deploy/kustomization.yaml")
            .replace("images:\n", &format!("{resources}images:\n"))
            .replace("registry.example.com/cronjob", "cronjob")
            .replace("newTag: v1", &format!("newTag: {tag}"));
        let note = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: note\ndata:\n  a: b\n";
        let deploy = self.folder.join("deploy");
        fs::write(deploy.join("note.yaml"), note).expect("a file");
        fs::write(deploy.join("kustomization.yaml"), overlay).expect("a file");
        let rendered = cluster.kubectl(&format!("kustomize {}", deploy.display()));
        fs::write(self.rendered(), rendered).expect("a file");
        self.git("add --all");
        self.git("commit --quiet --message x");
    }

    fn commit_nothing(&self) {
        fs::write(self.rendered(), "").expect("a file");
        self.git("commit --quiet --all --message x");
    }

    fn rendered(&self) -> PathBuf {
        self.folder.join("rendered/all.yaml")
    }
}

/// Builds the programs of a Go module, and returns their folder.
fn built(module: &str) -> PathBuf {
    let tools = Path::new(REPOSITORY).join("target/tools").join(module);
    println!("    building the tools of {module}");
    let mut go = Command::new("go");
    go.arg("build").args(QUICKLY).arg("-o");
    go.arg(tools.join("")).arg("tool");
    go.args((module == "flux").then_some("."));
    go.env("CGO_ENABLED", "0");
    output(
        go.current_dir(
            Path::new(REPOSITORY)
                .join("tests/tools/gitops")
                .join(module),
        ),
    );
    tools
}

fn port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

fn argo(cluster: &Cluster, repository: &Repository) -> Process {
    let agent = built("argo").join("agent");
    let mut agent = cluster.command(agent.to_str().expect("UTF-8"));
    agent.arg(&repository.folder).args(["--path", "rendered"]);
    agent.args(["--resync-seconds", &SYNC.as_secs().to_string()]);
    agent.args(["--default-namespace", NAMESPACE]);
    agent.args(["--port", &port().to_string()]);
    Process::start(agent, "argo")
}

fn flux(cluster: &Cluster) -> [Process; 3] {
    let tools = built("flux");
    for name in ["source-controller", "kustomize-controller"] {
        let mut list = Command::new("go");
        list.args(["list", "-m", "-f", "{{.Dir}}"]);
        list.arg(format!("github.com/fluxcd/{name}"));
        let module =
            output(list.current_dir(Path::new(REPOSITORY).join("tests/tools/gitops/flux")));
        cluster.kubectl(&format!(
            "apply --server-side -f {}/config/crd/bases",
            module.trim()
        ));
    }
    let [git, files] = [(); 2].map(|()| format!("127.0.0.1:{}", port()));
    let url = format!("http://{git}/repository/.git");
    let mut server = Command::new(tools.join("flux"));
    server.arg(folder()).arg(&git);
    let start = |name: &str, more: &[String]| {
        let mut controller = cluster.command(tools.join(name).to_str().expect("UTF-8"));
        controller.args(["--metrics-addr=0", "--watch-all-namespaces"]);
        controller.arg(format!("--health-addr=127.0.0.1:{}", port()));
        controller.args(more).env("RUNTIME_NAMESPACE", "default");
        Process::start(controller, name)
    };
    let source = [
        format!("--storage-path={}", folder().display()),
        format!("--storage-addr={files}"),
        format!("--storage-adv-addr={files}"),
    ];
    let processes = [
        Process::start(server, "git"),
        start("source-controller", &source),
        start("kustomize-controller", &[]),
    ];
    let interval = format!("interval: {}s", SYNC.as_secs());
    let objects = ["flux.yaml", "flux-objects.yaml"].map(|name| {
        block(name)
            .replace("https://git.example.com/fleet.git", &url)
            .replace("interval: 5m", &interval)
            .replace("interval: 10m", &interval)
    });
    let file = folder().join("flux.yaml");
    fs::write(&file, objects.join("---\n")).expect("a file");
    let _ = cluster.try_kubectl("create namespace flux-system");
    eventually("Flux' types are served", 30, || {
        cluster
            .try_kubectl(&format!("apply -f {}", file.display()))
            .ok()
    });
    processes
}

/// What is in the cluster of what the repository has.
fn applied(cluster: &Cluster, repository: &Repository) -> Vec<Value> {
    let list = cluster.json(&format!("get -f {}", repository.rendered().display()));
    list["items"].as_array().expect("a list").clone()
}

/// Changes if somebody writes more than a status.
fn generations(objects: &[Value]) -> BTreeMap<String, String> {
    let generation = |object: &Value| {
        let metadata = &object["metadata"];
        let written = match &metadata["generation"] {
            Value::Null => &metadata["resourceVersion"],
            generation => generation,
        };
        (
            format!("{} {}", object["kind"], metadata["name"]),
            written.to_string(),
        )
    };
    objects.iter().map(generation).collect()
}

/// The API server can call each webhook of the operator.
#[track_caller]
fn has_certificates(objects: &[Value]) {
    let mut webhooks = 0;
    for webhook in objects
        .iter()
        .filter_map(|object| object["webhooks"].as_array())
        .flatten()
    {
        let bundle = webhook["clientConfig"]["caBundle"].as_str();
        assert!(
            bundle.is_some_and(|bundle| !bundle.is_empty()),
            "{webhook:#}"
        );
        webhooks += 1;
    }
    assert!(webhooks > 0);
}

fn run(cluster: &Cluster, tool: &Tool) {
    let project = Deployed::built(cluster, "cronjob");
    project.load("v2");
    let repository = Repository::of(&project);
    repository.commit(cluster, "v1", &["note.yaml"]);
    let processes = tool.start(cluster, &repository);

    let holder =
        format!("get lease {DEPLOYMENT} -n {NAMESPACE} -o jsonpath={{.spec.holderIdentity}}");
    eventually("it leads", 180, || {
        cluster
            .try_kubectl(&holder)
            .ok()
            .filter(|holder| !holder.is_empty())
    });
    is_reviewed(&project);
    let rollout = format!("rollout status deployment/{DEPLOYMENT} -n {NAMESPACE} --timeout=180s");
    cluster.kubectl(&rollout);

    if matches!(tool, Tool::Flux) {
        let objects = "kustomizations.kustomize.toolkit.fluxcd.io/fleet-objects -n flux-system";
        cluster.kubectl(&format!(
            "wait {objects} --for=condition=Ready --timeout=180s"
        ));
    }

    println!("    nothing is written without a change");
    let before = generations(&applied(cluster, &repository));
    sleep(SYNC * 4);
    let after = applied(cluster, &repository);
    assert_eq!(generations(&after), before);
    has_certificates(&after);

    println!("    an upgrade, and an object that goes");
    let reviews = Reviews::start(cluster, CRONJOBS, &sample(&project, "v1"));
    repository.commit(cluster, "v2", &[]);
    let image = format!(
        "get deployment {DEPLOYMENT} -n {NAMESPACE} -o jsonpath={{.spec.template.spec.containers[0].image}}"
    );
    eventually("the new image", 60, || {
        (cluster.kubectl(&image) == "cronjob:v2").then_some(())
    });
    cluster.kubectl(&rollout);
    let note = format!("get configmap fleet-note -n {NAMESPACE}");
    eventually("the object goes", 60, || cluster.try_kubectl(&note).err());

    println!("    drift");
    let drift = r#"patch validatingwebhookconfiguration fleet-cronjob-validating-webhook-configuration --type=json -p [{"op":"replace","path":"/webhooks/0/failurePolicy","value":"Ignore"}]"#;
    for _ in 0..5 {
        cluster.kubectl(drift);
        eventually("the drift is corrected", 60, || {
            let objects = applied(cluster, &repository);
            has_certificates(&objects);
            let drifts = |object: &Value| object["webhooks"][0]["failurePolicy"] == "Ignore";
            (!objects.iter().any(drifts)).then_some(())
        });
    }
    none_failed(reviews, 2_000);

    tool.remove_objects(cluster);
    tool.remove(cluster, &repository);
    let namespace = format!("get namespace {NAMESPACE}");
    eventually("the namespace goes", 180, || {
        cluster.try_kubectl(&namespace).err()
    });
    drop(processes);
    project.left_nothing();
}
