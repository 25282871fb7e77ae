//! `kbr dev --plan`: what this version of the operator would change in a cluster.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};

use serde_json::json;

use super::cluster::{Cluster, without};
use super::error::DevError;
use super::job::{Job, Kind};
use super::log::Logged;
use crate::cli::{Color, DevArgs};
use crate::commands::error::Result;
use crate::error::IoError;
use crate::report::{Happening, Level, Report};
use crate::toolchain::child::{Child, Line, Output};
use crate::toolchain::signals;

/// What clap says in an operator of an earlier kbr.
const UNKNOWN: &str = "unexpected argument '--plan'";

/// The exit code if the plan could not be made.
pub(super) const FAILED: u8 = 2;

/// Builds the operator `name`, prints its plan for the cluster of the context, and exits with its code.
pub(super) fn run(
    root: &Path,
    name: &str,
    args: &DevArgs,
    context: &str,
    color: Color,
    report: &Report,
) -> Result<()> {
    let cluster = Cluster::open(root, context, report)?;
    let (sender, events) = channel();
    let stop = sender.clone();
    let stopped = signals::stopped(move || drop(stop.send(Output::Ended(None))));
    stopped.map_err(IoError::at("follow", "signals"))?;
    let each = move |output| drop(sender.send(output));
    report.happening(&Happening::new("building", Level::Note, "Building").text(name));
    let job = Job::start(Kind::Operator, root, name, color, each.clone())?;
    let executable = built(job, &events, report)?;
    let own = [
        "--plan".to_owned(),
        cluster.flag(),
        "--log-format=json".to_owned(),
    ];
    let later = [&own[..], &args.arguments].concat();
    let mut line = Line::new(executable, &without(&cluster.arguments, &later)).and(&later);
    let environment = cluster.environment.iter();
    line.environment
        .extend(environment.map(|(name, value)| (name.into(), value.into())));
    let _process = Child::start(&line, root, each)?;
    let mut plan = String::new();
    for output in events {
        match output {
            Output::Out(line) => plan += &format!("{line}\n"),
            Output::Err(line) if line.contains(UNKNOWN) => return Err(DevError::NoPlan.into()),
            // Such as the message about a flag in `arguments`.
            Output::Err(line) if !line.starts_with('{') => {
                report.messages(Kind::Operator.word(), &line);
            }
            Output::Err(line) => logged(&Logged::of(&line), report),
            Output::Ended(code) => {
                let code = code.and_then(|code| u8::try_from(code).ok());
                let code = code.unwrap_or(FAILED);
                report.exit_with(code);
                if report.is_json() {
                    let told = Happening::new("plan", Level::Note, "Plan").text(&plan);
                    report.happening(&told.facts(json!({ "code": code })));
                } else {
                    report.output(&plan);
                }
                break;
            }
        }
    }
    Ok(())
}

/// Shows a line of the operator's log, if it needs attention: the others tell of writes that were dry runs.
fn logged(logged: &Logged, report: &Report) {
    let Logged::Other { level, text, .. } = logged else {
        return;
    };
    if ["error", "warn"].contains(&level.as_str()) {
        let line = Happening::log(level, text);
        report.happening(&line.facts(json!({ "level": level })));
    }
}

/// Waits for the operator to be built, and returns its path.
fn built(mut job: Job, events: &Receiver<Output>, report: &Report) -> Result<PathBuf> {
    let finished = events.iter().find_map(|output| job.take(output));
    let finished = finished.ok_or(DevError::NotBuilt)?;
    report.messages(Kind::Operator.word(), &finished.messages.join("\n"));
    let executable = finished.executable().filter(|_| finished.is_success);
    Ok(executable.ok_or(DevError::NotBuilt)?)
}
