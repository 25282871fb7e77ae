//! A program that runs until it is stopped.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

/// Far longer than anything should take, including a first compilation on a busy machine.
const PATIENCE: Duration = Duration::from_secs(1200);

/// A program in a process group of its own, as a shell starts it on a terminal.
pub struct Running {
    child: Child,
    stdout: PathBuf,
    stderr: PathBuf,
}

/// How a program ended.
pub struct Ended {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Ended {
    #[track_caller]
    pub fn success(self) -> Self {
        assert!(self.status.success(), "{}\n{}", self.status, self.stderr);
        self
    }
}

impl Running {
    /// Starts `command`; its output goes to the files `output` with the extensions `.stdout` and `.stderr`.
    pub fn start(mut command: Command, output: &Path) -> Self {
        let (stdout, stderr) = (
            output.with_extension("stdout"),
            output.with_extension("stderr"),
        );
        command.stdout(File::create(&stdout).expect("a file"));
        command.stderr(File::create(&stderr).expect("a file"));
        let child = command.process_group(0).spawn();
        Self {
            child: child
                .unwrap_or_else(|error| panic!("{:?} is needed: {error}", command.get_program())),
            stdout,
            stderr,
        }
    }

    pub fn stdout(&self) -> String {
        fs::read_to_string(&self.stdout).expect("text")
    }

    pub fn stderr(&self) -> String {
        fs::read_to_string(&self.stderr).expect("text")
    }

    /// Waits until `find` finds something, while the program runs.
    pub fn wait_for<T>(&mut self, what: &str, mut find: impl FnMut(&mut Self) -> Option<T>) -> T {
        let start = Instant::now();
        loop {
            if let Some(found) = find(self) {
                return found;
            }
            let ended = self.child.try_wait().expect("a child");
            let continues = ended.is_none() && start.elapsed() < PATIENCE;
            assert!(continues, "no {what}; {ended:?}\n{}", self.stderr());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Ctrl-C on a terminal: every process of the group gets the signal.
    pub fn interrupt(self) -> Ended {
        let group = format!("-{}", self.child.id());
        self.signal("-INT", &group)
    }

    /// As a supervisor does: only the process that it started gets the signal.
    pub fn terminate(self) -> Ended {
        let process = self.child.id().to_string();
        self.signal("-TERM", &process)
    }

    /// As if the machine ran out of memory: only that process, without a chance to do anything.
    pub fn kill(mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }

    fn signal(self, signal: &str, to: &str) -> Ended {
        assert!(kill(signal, to), "{signal} to {to}");
        self.wait()
    }

    /// Waits until it ends.
    pub fn wait(self) -> Ended {
        self.wait_while(|| ())
    }

    /// Waits until it ends, and meanwhile does this again and again.
    pub fn wait_while(mut self, mut act: impl FnMut()) -> Ended {
        let status = self.wait_for("exit", |running| {
            act();
            running.child.try_wait().expect("a child")
        });
        Ended {
            status,
            stdout: self.stdout(),
            stderr: self.stderr(),
        }
    }
}

impl Drop for Running {
    /// A test that fails leaves nothing behind.
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|status| status.is_none()) {
            kill("-KILL", &format!("-{}", self.child.id()));
            let _ = self.child.wait();
        }
    }
}

fn kill(signal: &str, to: &str) -> bool {
    let status = Command::new("kill").args([signal, "--", to]).status();
    status.is_ok_and(|status| status.success())
}

/// The command lines of all processes that contain `text`.
pub fn processes_with(text: &str) -> Vec<String> {
    let mut command = Command::new("ps");
    command.args(["-A", "-w", "-w", "-o", "args="]);
    let output = command.output().expect("ps is needed: install procps");
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    lines
        .lines()
        .filter(|line| line.contains(text))
        .map(str::to_owned)
        .collect()
}
