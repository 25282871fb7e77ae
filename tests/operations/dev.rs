//! `kbr dev`: a real operator that is replaced while its API server stays, and nothing left when kbr is killed.

mod screen;
mod screenshot;

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::goldens::share_runtime;
use crate::support::running::{Running, processes_with};
use crate::support::{Run, Sandbox, assets, compiles_into, compiling, copy, kbr, target};

const CONTROLLER: &str = "src/controller/captain_controller.rs";
const TYPES: &str = "api/src/v1/captain_types.rs";

/// Far longer than a first build takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(900);

/// A `kbr dev` that runs.
struct Dev {
    running: Running,
    project: Sandbox,
    kubeconfig: String,
    /// How many events were looked at.
    seen: usize,
}

impl Dev {
    fn start() -> Self {
        let project = project();
        let mut command = Command::new(env!("CARGO_BIN_EXE_kbr"));
        command
            .args(["dev", "--samples", "--output", "json"])
            .current_dir(project.path())
            .env("KUBEBUILDER_ASSETS", assets())
            .stdin(Stdio::null());
        compiles_into(&mut command, &target());
        let output = Path::new(env!("CARGO_TARGET_TMPDIR")).join("dev");
        let mut dev = Self {
            running: Running::start(command, &output),
            project,
            kubeconfig: String::new(),
            seen: 0,
        };
        let ready = dev.next("ready", |_| true);
        dev.kubeconfig = ready["kubeconfig"].as_str().expect("a path").to_owned();
        dev
    }

    /// Waits for the next event with that name for which `is_it` holds, and returns it.
    #[track_caller]
    fn next(&mut self, name: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        let (at, found) = self.coming(name, is_it);
        self.seen = at + 1;
        found
    }

    /// Waits for the write that changes `line` in an object. Events that come before it can still be waited for, since
    /// nothing says whether a write or the end of its reconcile is told first.
    #[track_caller]
    fn wrote(&mut self, line: &str) -> Value {
        let has_line = |event: &Value| {
            let mut lines = event["diff"].as_array().into_iter().flatten();
            lines.any(|it| it == line)
        };
        self.coming("wrote", has_line).1
    }

    #[track_caller]
    fn coming(&mut self, name: &str, is_it: impl Fn(&Value) -> bool) -> (usize, Value) {
        let seen = self.seen;
        self.running.wait_for(name, |running| {
            let stdout = running.stdout();
            let lines = stdout.split_inclusive('\n').enumerate().skip(seen);
            // The last line may not be complete yet.
            let mut events = lines.filter(|(_, line)| line.ends_with('\n'));
            events.find_map(|(at, line)| {
                let event: Value = serde_json::from_str(line).expect("a JSON object on each line");
                (event["event"] == name && is_it(&event)).then_some((at, event))
            })
        })
    }

    fn kubectl(&self, line: &str) -> Run {
        let mut kubectl = Command::new(assets().join("kubectl"));
        kubectl
            .args(line.split_whitespace())
            .arg(format!("--kubeconfig={}", self.kubeconfig))
            .current_dir(self.project.path());
        kubectl.output().expect("kubectl runs").into()
    }

    /// Runs `kbr dev` in a copy of the project, for the API server as any other cluster. `config` is the folder of the
    /// user's configuration.
    fn elsewhere(&self, copy: &Sandbox, config: &Sandbox, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kbr"));
        command
            .args(line.split_whitespace())
            .current_dir(copy.path())
            .env("KUBECONFIG", &self.kubeconfig)
            .env("KUBECTL", assets().join("kubectl"))
            .env("XDG_CONFIG_HOME", config.path())
            .stdin(Stdio::null());
        compiles_into(&mut command, &target());
        command
    }

    /// The reason of the condition that the operator writes.
    fn reason(&self) -> String {
        let path = "jsonpath={.status.conditions[0].reason}";
        let get = format!("get captain captain-sample -o {path}");
        self.kubectl(&get).success().stdout
    }
}

/// A project with a controller.
fn project() -> Sandbox {
    let project = Sandbox::new();
    for line in [
        "init --domain example.com --project-name fleet",
        "create api --group crew --version v1 --kind Captain",
    ] {
        project.kbr(line).success();
    }
    share_runtime(project.path());
    project
}

/// Waits until `is_so`.
#[track_caller]
fn soon(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_operator_is_replaced_and_nothing_outlives_kbr() {
    let _alone = compiling();
    let mut dev = Dev::start();
    let wrote = dev.wrote("+ status.conditions[Ready].reason: \"NotImplemented\"");
    assert_eq!(wrote["object"], "Captain default/captain-sample");
    assert_eq!(wrote["subresource"], "status");
    assert_eq!(wrote["controller"], "captain");
    dev.next("first-reconcile", |_| true);
    soon("the first operator has reconciled", || {
        dev.reason() == "NotImplemented"
    });
    let uid = dev.kubectl("get captain captain-sample -o jsonpath={.metadata.uid}");
    let uid = uid.success().stdout;

    // A second one in the same project.
    let second = kbr(dev.project.path(), &["dev"]).refused_with(1);
    assert!(
        second.contains("another `kbr dev` already runs"),
        "{second}"
    );

    // Other code.
    dev.project
        .edit(CONTROLLER, "\"NotImplemented\"", "\"Edited\"");
    dev.wrote("~ status.conditions[Ready].reason: \"NotImplemented\" -> \"Edited\"");
    let first = dev.next("first-reconcile", |_| true);
    assert!(first["seconds"].as_f64().expect("a number") > 0.0);
    soon("the new operator has reconciled", || {
        dev.reason() == "Edited"
    });

    let (copied, config) = (Sandbox::new(), Sandbox::new());
    copy(dev.project.path(), copied.path());
    plans(&dev, &copied, &config);

    // A save in the middle of a word.
    dev.project.edit(CONTROLLER, "\"Edited\"", "\"Edi");
    let said = dev.next("compiler", |_| true);
    let said = said["text"].as_str().expect("text").to_owned();
    assert!(said.contains("unterminated double quote string"), "{said}");
    dev.next("build-failed", |_| true);
    dev.kubectl("annotate captain captain-sample example.com/a=b")
        .success();
    let reconciled = dev.next("reconciled", |_| true);
    let trigger = "captains.crew.example.com default/captain-sample has changed";
    assert_eq!(reconciled["trigger"], trigger);

    // The type gets a field that stored objects do not have, and the code compiles again.
    dev.project.edit(CONTROLLER, "\"Edi", "\"Ranked\"");
    let spec = "pub struct CaptainSpec {";
    let field = format!("{spec}\n    /// Rank.\n    pub rank: String,\n");
    dev.project.edit(TYPES, spec, &field);
    let broken = dev.next("break", |_| true);
    let text = broken["text"].as_str().expect("text");
    assert!(text.contains("`spec.rank`"), "{text}");
    let misfit = dev.next("misfit", |_| true);
    assert_eq!(misfit["object"], "Captain default/captain-sample");
    assert_eq!(misfit["field"], "spec.rank");

    // A marker: the role that runs has the rule.
    let marker = "// +kbr:rbac:groups=crew.example.com,resources=captains,verbs=list;watch\n";
    let more = format!("{marker}// +kbr:rbac:groups=core,resources=pods,verbs=get\n");
    dev.project.edit(CONTROLLER, marker, &more);
    dev.next("applied", |event| {
        event["object"] == "ClusterRole fleet-manager-role"
    });
    let account = "system:serviceaccount:fleet-system:fleet-controller-manager";
    let can_i = dev.kubectl(&format!("auth can-i get pods --as={account}"));
    assert_eq!(can_i.success().stdout, "yes\n");

    // A sample.
    let sample = "config/samples/crew_v1_captain.yaml";
    let text = dev.project.read(sample);
    dev.project.write(sample, &format!("{text}  rank: first\n"));
    dev.next("applied", |event| {
        event["object"] == "captain.crew.example.com/captain-sample"
    });
    soon("the last operator has reconciled", || {
        dev.reason() == "Ranked"
    });
    let same = dev.kubectl("get captain captain-sample -o jsonpath={.metadata.uid}");
    assert_eq!(same.success().stdout, uid, "objects survive");

    hands_over(&mut dev, copied, &config);

    // Killed without a chance to clean up.
    let folder = dev.kubeconfig.trim_end_matches("/kubeconfig").to_owned();
    assert!(processes_with(&folder).len() >= 3);
    dev.running.kill();
    soon("no process is left", || processes_with(&folder).is_empty());
    let lock = File::open(dev.project.path().join("config")).expect("the folder");
    assert!(lock.try_lock().is_ok(), "the next one can start");

    // Killed while the API server starts: its helper does not go on.
    let mut helper = Command::new(target().join("debug/examples/run-local"));
    helper
        .env("KBR_DEV", "1")
        .env("KUBEBUILDER_ASSETS", assets());
    let output = helper.stdin(Stdio::null()).output().expect("it was built");
    assert_eq!((output.status.code(), &*output.stdout), (Some(1), &b""[..]));
}

/// What another version of the operator would change for the objects of the one that runs, in a context that is allowed.
fn plans(dev: &Dev, copied: &Sandbox, config: &Sandbox) {
    let plan = "dev --context testenv --plan";
    let run = |line: &str| -> Run {
        let mut command = dev.elsewhere(copied, config, line);
        command.output().expect("kbr runs").into()
    };
    let refused = run(plan).refused_with(2);
    assert!(
        refused.contains("`kbr dev --allow-context testenv`"),
        "{refused}"
    );
    let unknown = run("dev --allow-context production");
    let unknown = unknown.refused_with(1);
    assert!(unknown.contains("it has `testenv`"), "{unknown}");
    let allow = "dev --allow-context testenv";
    for _ in 0..2 {
        run(allow).success();
    }
    assert_eq!(config.read("kbr/contexts"), "testenv\n");

    let same = run(plan);
    assert_eq!(same.code(), Some(0), "{}{}", same.stdout, same.stderr);
    assert_eq!(same.stdout, "The plan: nothing to do.\n");

    copied.edit(CONTROLLER, "\"Edited\"", "\"Planned\"");
    let other = run(plan);
    let (stdout, stderr) = (&other.stdout, &other.stderr);
    assert_eq!(other.code(), Some(1), "{stdout}{stderr}");
    let account = "system:serviceaccount:fleet-system:fleet-controller-manager";
    assert!(stderr.contains(account), "{stderr}");
    for line in [
        "~ captains.crew.example.com default/captain-sample (changed by captain)",
        "reason: \"Edited\" -> \"Planned\"",
        "The plan: 1 to change. Nothing was written.",
    ] {
        assert!(stdout.contains(line), "{line}\n{stdout}{stderr}");
    }
    assert_eq!(dev.reason(), "Edited", "nothing was written");
}

/// The operator of the copy takes the Lease from the one that runs, and hands it back.
fn hands_over(dev: &mut Dev, copied: Sandbox, config: &Sandbox) {
    let holder =
        "get lease fleet-controller-manager -n fleet-system -o jsonpath={.spec.holderIdentity}";
    // Both projects share cargo's folder, which compares times.
    copied.edit(CONTROLLER, "\"Planned\"", "\"Taken\"");
    copied.edit(TYPES, "An example field", "A field");
    let command = dev.elsewhere(
        &copied,
        config,
        "dev --context testenv --apply --output json",
    );
    let output = Path::new(env!("CARGO_TARGET_TMPDIR")).join("dev-elsewhere");
    let mut other = Dev {
        running: Running::start(command, &output),
        project: copied,
        kubeconfig: dev.kubeconfig.clone(),
        seen: 0,
    };
    let warned = other.next("cluster", |_| true);
    assert_eq!(warned["severity"], "info");
    // The CRD of the copy does not have the newest field.
    let broken = other.next("break", |_| true);
    let text = broken["text"].as_str().expect("text");
    assert!(text.contains("`spec.rank`"), "{text}");
    other.next("refused", |_| true);
    let rank = "get crd captains.crew.example.com -o jsonpath={..properties.spec.required}";
    assert_eq!(
        dev.kubectl(rank).success().stdout,
        "[\"rank\"]",
        "nothing was applied"
    );
    // The one that runs notices, and the new one waits until it must have noticed.
    let ended = dev.next("log", |event| {
        event["text"]
            .as_str()
            .is_some_and(|text| text.contains("has taken it"))
    });
    assert_eq!(ended["level"], "error");
    dev.next("operator-ended", |_| true);
    assert_eq!(dev.reason(), "Ranked", "nobody leads");
    other.next("first-reconcile", |_| true);
    soon("the operator of the copy has reconciled", || {
        other.reason() == "Taken"
    });
    let held = dev.kubectl(holder).success().stdout;
    assert!(held.starts_with("kbr-dev_"), "{held}");

    // Another version of it: nobody else leads in between.
    other.project.edit(CONTROLLER, "\"Taken\"", "\"Swapped\"");
    other.next("first-reconcile", |_| true);
    soon("the next one has reconciled", || {
        other.reason() == "Swapped"
    });
    assert_eq!(dev.kubectl(holder).success().stdout, held);

    let spec = "pub struct CaptainSpec {";
    let fields = format!(
        "{spec}\n    /// Rank.\n    pub rank: String,\n    /// Motto.\n    \
         #[serde(default, skip_serializing_if = \"Option::is_none\")]\n    pub motto: Option<String>,\n"
    );
    other.project.edit(TYPES, spec, &fields);
    other.next("applied", |event| {
        event["object"] == "customresourcedefinition.apiextensions.k8s.io/captains.crew.example.com"
    });
    other.next("first-reconcile", |_| true);

    let ended = other.running.terminate().success();
    assert!(
        ended.stdout.contains("\"event\":\"handed-back\""),
        "{}",
        ended.stdout
    );
    assert_eq!(dev.kubectl(holder).success().stdout, "");

    // Killed without a chance to hand it back: its operator ends, too, and the Lease expires.
    let line = "dev --context testenv --output json";
    let command = dev.elsewhere(&other.project, config, line);
    other.running = Running::start(command, &output);
    other.seen = 0;
    other.next("first-reconcile", |_| true);
    other.running.kill();
    let held = dev.kubectl(holder).success().stdout;
    assert!(held.starts_with("kbr-dev_"), "{held}");
    dev.project.edit(CONTROLLER, "\"Ranked\"", "\"Resumed\"");
    dev.next("first-reconcile", |_| true);
    soon("the first project's operator resumes", || {
        dev.reason() == "Resumed"
    });
}

#[test]
fn what_cannot_run_is_refused() {
    let sandbox = Sandbox::new();
    let said = sandbox.kbr("dev").refused_with(1);
    assert!(said.contains("is not a kbr project"), "{said}");

    let project = Sandbox::with_project();
    let example = "examples/run-local.rs";
    let earlier = project.read(example).replace("serve_kbr_dev", "serve");
    project.write(example, &earlier);
    let said = project.kbr("dev").refused_with(1);
    assert!(said.contains("type `kbr update`"), "{said}");

    let refused = project.kbr("dev --output json").failure().stdout;
    let said: Value = serde_json::from_str(&refused).expect("one line of JSON");
    assert_eq!(said["code"], "dev-too-old");
    assert_eq!(said["severity"], "error");

    let said = project.kbr("dev --dry-run").refused_with(2);
    assert!(said.contains("'--dry-run' can only be used with"), "{said}");

    let said = project.kbr("dev --plan").refused_with(2);
    assert!(said.contains("--context <NAME>"), "{said}");
}
