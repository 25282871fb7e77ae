//! Processes that run beside kbr and never outlive it.
//!
//! A shell keeps each of them, in a process group of its own, and kills the group when the shell's standard input
//! ends: that is a pipe, which the operating system closes however kbr ends. Ctrl-C in the terminal reaches kbr alone.

use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{self, ChildStdin, Command, Stdio};
use std::thread;

use crate::error::IoError;

/// `$@` is the command line of the process. Each line of standard input is the name of a signal to send to it.
const KEEPER: &str = r#"
exec 3<&0
"$@" 3<&- </dev/null &
child=$!
{ while read -r signal <&3; do kill -"$signal" "$child"; done; kill -KILL 0; } >/dev/null 2>&1 &
keeper=$!
exec 3<&-
wait "$child" 2>/dev/null
status=$?
kill "$keeper" 2>/dev/null
exit "$status"
"#;

/// What a process prints, and how it ends.
#[derive(Debug)]
pub(crate) enum Output {
    Out(String),
    Err(String),
    /// The exit code, or 128 and the signal; `None` if the whole group was killed. Nothing follows.
    Ended(Option<i32>),
}

/// A command line with its own part of the environment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Line {
    pub(crate) program: OsString,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) environment: Vec<(OsString, OsString)>,
}

impl Line {
    pub(crate) fn new<A: AsRef<OsStr>>(program: impl Into<OsString>, arguments: &[A]) -> Self {
        Self {
            program: program.into(),
            arguments: arguments.iter().map(|it| it.as_ref().to_owned()).collect(),
            environment: Vec::new(),
        }
    }

    #[must_use]
    pub(crate) fn and<A: AsRef<OsStr>>(mut self, arguments: &[A]) -> Self {
        let arguments = arguments.iter().map(|it| it.as_ref().to_owned());
        self.arguments.extend(arguments);
        self
    }

    #[must_use]
    pub(crate) fn with(mut self, variable: &str, value: impl Into<OsString>) -> Self {
        self.environment.push((variable.into(), value.into()));
        self
    }
}

/// A running process; dropping this kills it and everything that it has started.
pub(crate) struct Child {
    /// Of the shell, or of a process that reads requests.
    stdin: Option<ChildStdin>,
}

impl Child {
    /// Starts a process in the folder `root`. `each` is called on other threads.
    pub(crate) fn start(
        line: &Line,
        root: &Path,
        each: impl Fn(Output) + Clone + Send + 'static,
    ) -> Result<Self, IoError> {
        let mut command = Command::new("sh");
        command.args(["-c", KEEPER, "sh"]).arg(&line.program);
        Self::spawn(command, line, root, each)
    }

    /// Starts a process that reads requests from its standard input, and must end with it.
    pub(crate) fn start_reader(
        line: &Line,
        root: &Path,
        each: impl Fn(Output) + Clone + Send + 'static,
    ) -> Result<Self, IoError> {
        Self::spawn(Command::new(&line.program), line, root, each)
    }

    fn spawn(
        mut command: Command,
        line: &Line,
        root: &Path,
        each: impl Fn(Output) + Clone + Send + 'static,
    ) -> Result<Self, IoError> {
        command
            .args(&line.arguments)
            .envs(line.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(root)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let program = command.get_program().to_owned();
        let mut child = command.spawn().map_err(IoError::at("start", program))?;
        let stdin = child.stdin.take();
        thread::spawn(move || follow(child, &each));
        Ok(Self { stdin })
    }

    /// Asks the process to end, as Kubernetes does.
    pub(crate) fn terminate(&mut self) {
        self.send("TERM");
    }

    /// Writes a line to the process that reads requests.
    pub(crate) fn send(&mut self, line: &str) {
        if let Some(stdin) = &mut self.stdin {
            // If it has ended, that is reported anyway.
            let _ = writeln!(stdin, "{line}");
        }
    }
}

/// Passes on what a process prints until it ends.
fn follow(mut child: process::Child, each: &(impl Fn(Output) + Clone + Send + 'static)) {
    let err = child.stderr.take().map(|stream| {
        let each = each.clone();
        thread::spawn(move || lines(stream, |line| each(Output::Err(line))))
    });
    if let Some(stream) = child.stdout.take() {
        lines(stream, |line| each(Output::Out(line)));
    }
    if let Some(err) = err {
        // It cannot panic unless `each` does.
        let _ = err.join();
    }
    let status = child.wait().ok();
    each(Output::Ended(status.and_then(|status| status.code())));
}

fn lines(stream: impl Read, each: impl Fn(String)) {
    for line in BufReader::new(stream).split(b'\n') {
        let Ok(line) = line else { return };
        each(String::from_utf8_lossy(&line).into_owned());
    }
}
