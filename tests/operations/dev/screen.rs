//! The screen of `kbr dev`, on a terminal.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::termios::{LocalModes, tcgetattr};

use crate::support::terminal::terminal;
use crate::support::{Run, Sandbox, assets, compiles_into, compiling, target};

use super::screenshot::Screenshot;
use super::{CONTROLLER, project, soon};

/// A `kbr dev` on a terminal of its own.
struct OnTerminal {
    project: Sandbox,
    kbr: Child,
    terminal: File,
    shown: Arc<Mutex<String>>,
}

impl OnTerminal {
    fn start(project: Sandbox) -> Self {
        let (terminal, end) = terminal(100, 150);
        let mut command = Command::new(env!("CARGO_BIN_EXE_kbr"));
        command
            .args(["dev", "--samples"])
            .current_dir(project.path())
            .env("KUBEBUILDER_ASSETS", assets())
            .env_remove("NO_COLOR")
            .env("TERM", "xterm")
            .stdin(end())
            .stdout(end())
            .stderr(end());
        compiles_into(&mut command, &target());
        let kbr = command.spawn().expect("kbr runs");
        drop(command);
        let shown = Arc::<Mutex<String>>::default();
        let (mut reader, text) = (terminal.try_clone().expect("a clone"), shown.clone());
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                let read = String::from_utf8_lossy(&bytes[..count]);
                text.lock().expect("text").push_str(&read);
            }
        });
        Self {
            project,
            kbr,
            terminal,
            shown,
        }
    }

    fn shown(&self) -> String {
        self.shown.lock().expect("text").clone()
    }

    /// Waits until this text is shown.
    #[track_caller]
    fn shows(&self, text: &str) {
        soon(text, || self.shown().contains(text));
    }

    /// What is on the screen now, as it was drawn.
    fn frame(&self) -> String {
        let shown = self.shown();
        let frames = shown.rsplit("\x1b[?2026h");
        let mut whole = frames.filter_map(|frame| Some(frame.split_once("\x1b[?2026l")?.0));
        whole.next().unwrap_or_default().to_owned()
    }

    /// How many lines of the screen have this text now.
    fn lines_with(&self, text: &str) -> usize {
        let frame = self.frame();
        frame.lines().filter(|line| line.contains(text)).count()
    }

    /// Waits until at least so many lines of the screen have this text.
    #[track_caller]
    fn has_lines(&self, least: usize, text: &str) {
        soon(text, || self.lines_with(text) >= least);
    }

    fn kubectl(&self, line: &str) -> Run {
        let shown = self.shown();
        let (_, rest) = shown.split_once("KUBECONFIG=").expect("the line Ready");
        let kubeconfig = rest.split_whitespace().next().expect("a path");
        let mut kubectl = Command::new(assets().join("kubectl"));
        kubectl
            .args(line.split_whitespace())
            .env("KUBECONFIG", kubeconfig)
            .current_dir(self.project.path());
        kubectl.output().expect("kubectl runs").into()
    }

    fn press(&self, key: &str) {
        (&self.terminal).write_all(key.as_bytes()).expect("a key");
    }

    /// Whether a line is echoed and needs Enter.
    fn is_usual(&self) -> bool {
        let modes = tcgetattr(&self.terminal).expect("modes").local_modes;
        modes.contains(LocalModes::ICANON | LocalModes::ECHO)
    }

    fn signal(&self, signal: &str) {
        let mut kill = Command::new("kill");
        kill.args([signal, &self.kbr.id().to_string()]);
        assert!(kill.status().expect("kill runs").success());
    }

    /// Waits for the end of kbr, after which the terminal is what it was.
    #[track_caller]
    fn ends(mut self) -> (ExitStatus, String) {
        let status = self.kbr.wait().expect("it ends");
        assert!(self.is_usual());
        let left = "\x1b[?7h\x1b[?25h\x1b[?1049l";
        self.shows(left);
        // What was printed before it ended may still be on its way.
        std::thread::sleep(Duration::from_millis(100));
        let shown = self.shown();
        let (_, after) = shown.split_once(left).expect("the end of the screen");
        // Colours do no harm.
        assert!(!after.contains("\x1b[?"), "{after:?}");
        (status, after.to_owned())
    }
}

impl Drop for OnTerminal {
    fn drop(&mut self) {
        let _ = self.kbr.kill();
    }
}

#[test]
fn keys_need_no_enter_and_q_leaves_the_terminal_as_it_was() {
    let kbr = OnTerminal::start(Sandbox::with_project());
    kbr.shows("\x1b[?1049h");
    kbr.shows("Following");
    kbr.shows("| 0 objects | 0 errors");
    assert!(!kbr.is_usual());
    kbr.press("?");
    kbr.shows("stop everything");
    kbr.press("x");
    kbr.press("q");
    let (status, _) = kbr.ends();
    assert!(status.success(), "{status}");
}

#[test]
fn signals_leave_the_terminal_as_it_was() {
    for signal in ["-TERM", "-INT", "-HUP"] {
        let kbr = OnTerminal::start(Sandbox::with_project());
        kbr.shows("Following");
        kbr.signal(signal);
        let (status, _) = kbr.ends();
        assert!(status.success(), "{signal}: {status}");
    }
}

/// Calls a function that is not there yet.
const CALL: &str = "    draw_chart(&object).await.map_err(Retry::never)?;\n";

/// The function, which needs a permission.
const FUNCTION: &str = r#"
/// Draws the chart of a captain.
async fn draw_chart(captain: &Handle<Object>) -> kube::Result<()> {
    use kube::ResourceExt;

    let mut chart = k8s_openapi::api::core::v1::ConfigMap::default();
    chart.metadata.name = Some(format!("{}-chart", captain.name_any()));
    chart.metadata.labels = Some([("captain".to_owned(), captain.name_any())].into());
    chart.data = Some([("sea".to_owned(), "Aegean".to_owned())].into());
    let mut params = kube::api::PostParams::default();
    params.field_manager = Some("captain".to_owned());
    match captain.api().create(&params, &chart).await {
        Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(()),
        created => created.map(drop),
    }
}
"#;

/// Edits the controller three times: adds a call to a function; the function, whose write the API server refuses; and the
/// marker of the permission. The errors are not retried, so that each run shows the same lines.
fn edit(kbr: &OnTerminal) -> Screenshot {
    // The first one has written the status, which triggers the second.
    kbr.has_lines(2, RECONCILED);
    let controller = kbr.project.read(CONTROLLER);
    let controller = replace(
        &controller,
        "use kbr_runtime::{Action, Controller, Handle, Manager};\n",
        "use kbr_runtime::{Action, Controller, Handle, Manager, Retry};\n",
    );
    let controller = replace(
        &controller,
        "-> kube::Result<Action>",
        "-> Result<Action, Retry>",
    );
    let status = "object.apply_status(&status).await";
    let controller = replace(
        &controller,
        &format!("{status}?;"),
        &format!("{status}.map_err(Retry::never)?;"),
    );
    let comment = "    // Create, update and delete here what `object.spec` asks for.\n";
    let controller = replace(&controller, comment, CALL);
    kbr.project.write(CONTROLLER, &controller);
    kbr.has_lines(1, "keeps running");

    let tests = "\n#[cfg(test)]\n";
    let controller = replace(&controller, tests, &format!("{FUNCTION}{tests}"));
    kbr.project.write(CONTROLLER, &controller);
    kbr.has_lines(1, "missing permission");
    kbr.has_lines(1, "reconcile failed");

    let marker = "// +kbr:rbac:groups=crew.example.com,resources=captains/status,verbs=patch\n";
    let missing = "// +kbr:rbac:groups=core,resources=configmaps,verbs=create\n";
    kbr.has_lines(1, missing.trim_end());
    kbr.project
        .edit(CONTROLLER, marker, &format!("{marker}{missing}"));
    kbr.has_lines(2, "from the change to the first reconcile");
    kbr.has_lines(1, "create ConfigMap default/captain-sample-chart");
    // The first of two was at the start.
    Screenshot::from_second(&kbr.frame(), "Building fleet")
}

/// Replaces the only occurrence of `from`.
fn replace(text: &str, from: &str, to: &str) -> String {
    assert_eq!(text.matches(from).count(), 1, "{from}");
    text.replace(from, to)
}

const RECONCILED: &str = "default/captain-sample by captain in ";

#[test]
fn keys_pause_an_object_and_run_the_tests_of_what_has_changed() {
    let _alone = compiling();
    let kbr = OnTerminal::start(project());
    kbr.shows("s to the first reconcile");
    kbr.press("p");
    kbr.shows("Pause or resume which object?");
    kbr.press("\r");
    kbr.shows("captains.crew.example.com default/captain-sample: paused");

    // Its change is followed by that of another object, which is reconciled.
    let before = kbr.lines_with(RECONCILED);
    kbr.kubectl("annotate captain captain-sample example.com/a=b")
        .success();
    let sample = kbr.project.read("config/samples/crew_v1_captain.yaml");
    let other = sample.replace("\"captain-sample\"", "other");
    kbr.project.write("other.yaml", &other);
    kbr.kubectl("create --filename other.yaml").success();
    kbr.shows("default/other by captain in ");
    assert_eq!(kbr.lines_with(RECONCILED), before, "it is paused");
    kbr.press("p");
    kbr.press("\r");
    kbr.shows("captains.crew.example.com default/captain-sample: resumed");
    soon("it is reconciled again", || {
        kbr.lines_with(RECONCILED) > before
    });

    kbr.press("t");
    kbr.shows("no controller, webhook, policy or test");
    let tests = "tests/it/captain_controller.rs";
    let text = kbr.project.read(tests);
    let more = format!("{text}\n#[test]\nfn it_is_new() {{}}\n");
    kbr.project.write(tests, &more);
    // Nothing tells when the file was noticed.
    soon("the tests begin", || {
        kbr.press("t");
        std::thread::sleep(Duration::from_millis(200));
        kbr.shown().contains("captain_controller::")
    });
    kbr.shows("captain_controller::it_is_new");
    kbr.shows("Tested");
    assert_eq!(kbr.lines_with(" failed"), 0, "{}", kbr.shown());
    kbr.press("q");
    let (status, after) = kbr.ends();
    assert!(status.success(), "{status}");
    assert!(after.contains("everything"), "{after}");
}

/// `tests/tools/screen` writes what the guide and README.md show.
#[test]
fn the_screen_of_the_guide_and_of_the_readme_is_a_real_one() {
    let _alone = compiling();
    let kbr = OnTerminal::start(project());
    let screenshot = edit(&kbr);
    kbr.press("q");
    let (status, _) = kbr.ends();
    assert!(status.success(), "{status}");
    screenshot.is_shown();
}
