//! `kbr dev`: runs the operator on an API server of its own, and follows the files of the project.
//!
//! kbr watches, builds and shows; whatever speaks to the API server is a helper in the project, `examples/run-local.rs`
//! with `kbr-testing`. The helper and its API server stay while operators come and go.

mod affected;
mod allowed;
mod api_server;
mod applied;
mod cluster;
mod compared;
mod debounce;
pub(crate) mod error;
mod handover;
mod helper;
mod job;
mod key_actions;
mod log;
mod operator;
mod pause;
mod planned;
mod session;
mod sources;
mod testing;
mod wrote;

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};

use crate::cli::{Color, DevArgs};
use crate::commands::error::Result;
use crate::commands::folder::load;
use crate::error::IoError;
use crate::layout;
use crate::report::Report;
use crate::toolchain::child::Output;
use crate::toolchain::keys;
use crate::toolchain::signals::{self, Following};
use crate::tree::Tree;
use cluster::Cluster;
use error::DevError;
use session::Session;

/// The name that the helper has in the example, which an earlier kbr did not write.
const SERVES: &str = "serve_kbr_dev";

/// What the session reacts to.
enum Event {
    /// Some file has changed, or a folder was made.
    Files {
        is_made: bool,
    },
    /// A line was typed, or a key if there is a screen.
    Typed(String),
    /// The terminal has another size.
    Resized,
    /// Somebody wants kbr to end.
    Stop,
    /// The number tells an earlier helper or operator from the present one.
    Helper(u32, Output),
    Job(Output),
    Operator(u32, Output),
    Tests(Output),
}

/// Runs until somebody stops it, or makes a plan.
pub(crate) fn run(root: &Path, args: &DevArgs, color: Color, report: &Report) -> Result<()> {
    if cfg!(not(unix)) {
        return Err(DevError::System.into());
    }
    if let Some(context) = &args.allow_context {
        return allowed::allow(root, context, report);
    }
    if args.plan {
        report.exit_with(planned::FAILED);
    }
    let (project, _) = load(root)?;
    let tree = files(root)?;
    if let (Some(context), true) = (&args.context, args.plan) {
        let name = project.project_name.to_string();
        return planned::run(root, &name, args, context, color, report);
    }
    let example = tree.text(layout::RUN_LOCAL).unwrap_or_default();
    if !example.contains(SERVES) {
        let path = layout::RUN_LOCAL;
        return Err(DevError::TooOld { path }.into());
    }
    let _only = lock(root)?;
    let cluster = args.context.as_deref();
    let cluster = cluster.map(|context| Cluster::open(root, context, report));
    let cluster = cluster.transpose()?;
    let binaries = match &cluster {
        Some(cluster) => {
            cluster.can_be_taken(args.apply, report)?;
            PathBuf::new()
        }
        None => session::binaries(root)?,
    };
    let (sender, events) = channel();
    let following = follow(root, &tree, &sender)?;
    let stop = sender.clone();
    let stopped = signals::stopped(move || drop(stop.send(Event::Stop)));
    stopped.map_err(IoError::at("follow", "signals"))?;
    report.start_screen(&project.project_name.to_string());
    let typed = sender.clone();
    let typed = move |what: &str| drop(typed.send(Event::Typed(what.to_owned())));
    if report.has_screen() {
        keys::pressed(typed);
        let resized = sender.clone();
        let resized = signals::resized(move || drop(resized.send(Event::Resized)));
        resized.map_err(IoError::at("follow", "signals"))?;
    } else {
        signals::typed_lines(typed);
    }
    let mut session = Session::new(root, tree, args, color, binaries, report, sender);
    if let Some(cluster) = cluster {
        session.develop_in(cluster);
    }
    session.run(&events, following);
    Ok(())
}

/// Locks a folder of the project, which leaves no file behind however kbr ends. The root is locked by kbr's other commands
/// while they write.
fn lock(root: &Path) -> Result<File> {
    let root = &root.join(layout::CONFIG);
    let folder = File::open(root).map_err(IoError::at("open", root))?;
    match folder.try_lock() {
        Ok(()) => Ok(folder),
        Err(std::fs::TryLockError::WouldBlock) => Err(DevError::Running.into()),
        Err(std::fs::TryLockError::Error(source)) => Err(IoError::at("lock", root)(source).into()),
    }
}

/// The files of the project, and the code of other packages in its folder.
fn files(root: &Path) -> Result<Tree, IoError> {
    let mut tree = Tree::load(root)?;
    tree.read_sources(root, &|_| true)?;
    Ok(tree)
}

fn follow(root: &Path, tree: &Tree, sender: &Sender<Event>) -> Result<Following> {
    let code = tree.files().filter(|(path, _)| path.ends_with(".rs"));
    let of_code = code.filter_map(|(path, _)| Some(path.split_once('/')?.0));
    let known = Tree::folders().chain([layout::THIRD_PARTY]);
    let known: Vec<&str> = known.collect();
    let names: BTreeSet<&str> = of_code.chain(known).collect();
    let folders: Vec<PathBuf> = names.into_iter().map(|name| root.join(name)).collect();
    let sender = sender.clone();
    let each = move |is_made| drop(sender.send(Event::Files { is_made }));
    let following = Following::start(root, folders, each);
    Ok(following.map_err(|source| DevError::Watch { source })?)
}
