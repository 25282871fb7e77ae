//! A running `kbr dev`: what happens after each event.
//!
//! Nothing here waits, except for the next event. What has to be done is a set of flags, and [`Session::advance`] starts
//! whatever is possible now: one job for cargo, one request to the helper, one operator.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use serde_json::json;

use super::Event;
use super::api_server::Helper;
use super::cluster::Cluster;
use super::debounce::Debounce;
use super::error::DevError;
use super::handover::Held;
use super::helper::{Launch, Request};
use super::job::{Finished, Job, Kind, Manifests};
use super::operator::{Built, Operator};
use super::pause::resources;
use super::sources::Changed;
use super::testing::Testing;
use crate::cli::{Color, DevArgs};
use crate::commands::error::Result;
use crate::project::{PROJECT_FILE, Project};
use crate::report::{Happening, Level, Pressed, Report};
use crate::toolchain::child::Output;
use crate::toolchain::environment;
use crate::toolchain::signals::Following;
use crate::tree::Tree;

/// How long the API server may take to end.
const END: Duration = Duration::from_secs(10);

/// What has to be done.
#[derive(Debug, Default)]
pub(super) struct Todo {
    pub(super) manifests: bool,
    pub(super) helper: bool,
    pub(super) build: bool,
    pub(super) config: bool,
    pub(super) samples: bool,
}

pub(super) struct Session<'a> {
    pub(super) root: &'a Path,
    /// The name of the operator's binary.
    pub(super) name: String,
    pub(super) args: &'a DevArgs,
    color: Color,
    pub(super) binaries: PathBuf,
    pub(super) report: &'a Report,
    pub(super) sender: Sender<Event>,
    /// The project when it was last looked at.
    pub(super) tree: Tree,
    debounce: Debounce,
    /// Time of the oldest edit that no running operator contains.
    pub(super) edited: Option<Instant>,
    pub(super) todo: Todo,
    /// The warnings that were shown.
    warned: BTreeSet<String>,
    job: Option<Job>,
    pub(super) helper: Option<Helper>,
    /// How many helpers and operators were started, to tell what they print from what earlier ones print.
    pub(super) count: u32,
    pub(super) launch: Option<Launch>,
    /// What to run next.
    pub(super) built: Option<Built>,
    pub(super) operator: Option<Operator>,
    /// The operator that was built last.
    pub(super) executable: Option<PathBuf>,
    /// The resource of each controller.
    pub(super) resources: BTreeMap<String, String>,
    pub(super) testing: Testing,
    /// The controllers and names of the objects that the user has paused.
    pub(super) paused: BTreeSet<(String, String)>,
    /// A cluster of the user, instead of a helper, and the Lease there.
    pub(super) cluster: Option<Cluster>,
    pub(super) held: Option<Held>,
}

/// The folder of the API server's binaries.
pub(super) fn binaries(root: &Path) -> Result<PathBuf> {
    let printed = environment::output(root, &["envtest", "path"]);
    let printed = printed.map_err(|reason| DevError::NoBinaries { reason })?;
    Ok(printed.trim_end().into())
}

impl<'a> Session<'a> {
    pub(super) fn new(
        root: &'a Path,
        tree: Tree,
        args: &'a DevArgs,
        color: Color,
        binaries: PathBuf,
        report: &'a Report,
        sender: Sender<Event>,
    ) -> Self {
        let mut session = Self {
            root,
            name: String::new(),
            args,
            color,
            binaries,
            report,
            sender,
            resources: BTreeMap::new(),
            testing: Testing::new(&tree),
            tree,
            debounce: Debounce::default(),
            edited: Some(Instant::now()),
            todo: Todo {
                manifests: true,
                helper: true,
                build: true,
                config: false,
                samples: args.samples,
            },
            warned: BTreeSet::new(),
            job: None,
            helper: None,
            count: 0,
            launch: None,
            built: None,
            operator: None,
            executable: None,
            paused: BTreeSet::new(),
            cluster: None,
            held: None,
        };
        session.read_project();
        session
    }

    /// Takes over what is in PROJECT, unless it is being edited.
    fn read_project(&mut self) {
        if let Some(Ok(project)) = self.tree.text(PROJECT_FILE).map(Project::parse) {
            self.name = project.project_name.to_string();
            self.resources = resources(&project);
        }
    }

    /// Runs until somebody stops it.
    pub(super) fn run(mut self, events: &Receiver<Event>, mut following: Following) {
        self.tell(Happening::new("started", Level::Note, "Following").text(
            if self.report.has_screen() {
                "the files of the project; a first build takes minutes"
            } else {
                "the files of the project; press q, r or t, then Enter, to stop, rebuild or test\n\
                     A first build takes minutes"
            },
        ));
        loop {
            self.advance();
            match self.next(events) {
                Ok(Event::Stop) | Err(RecvTimeoutError::Disconnected) => break,
                Ok(Event::Typed(what)) => match self.report.key(&what) {
                    Pressed::Own => {}
                    Pressed::Pause { controller, object } => self.pause(&controller, &object),
                    Pressed::Other if what == "q" => break,
                    Pressed::Other => self.handle_key(&what),
                },
                Ok(Event::Files { is_made }) => {
                    self.debounce.touch(Instant::now());
                    // A file that vanishes now sends its own event.
                    if is_made && let Err(error) = following.renew() {
                        self.fail("error", &format!("could not follow a folder: {error}"));
                    }
                }
                Ok(event) => self.react(event),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if let Some(edited) = self.debounce.take(Instant::now()) {
                self.look(edited);
            }
        }
        self.stop(events);
    }

    /// The next event. The screen is drawn when there is none at the moment.
    fn next(&self, events: &Receiver<Event>) -> std::result::Result<Event, RecvTimeoutError> {
        if let Ok(event) = events.try_recv() {
            return Ok(event);
        }
        self.report.refresh();
        match self.debounce.due() {
            Some(due) => events.recv_timeout(due.saturating_duration_since(Instant::now())),
            None => events.recv().map_err(RecvTimeoutError::from),
        }
    }

    fn react(&mut self, event: Event) {
        match event {
            Event::Job(output) => {
                let finished = self.job.as_mut().and_then(|job| job.take(output));
                if let Some(finished) = finished {
                    self.job = None;
                    self.finished(&finished);
                }
            }
            Event::Helper(number, output) => self.helper(number, output),
            Event::Operator(number, output) => self.operator(number, output),
            Event::Tests(output) => self.tests(output),
            Event::Files { .. } | Event::Typed(_) | Event::Stop | Event::Resized => {}
        }
    }

    /// Finds out what has changed in the project.
    fn look(&mut self, edited: Instant) {
        let Ok(tree) = super::files(self.root) else {
            // Something vanished while it was read: a branch is being switched.
            self.debounce.touch(Instant::now());
            return;
        };
        let changed = Changed::between(&self.tree, &tree);
        self.tree = tree;
        self.read_project();
        if !changed.is_any() {
            return;
        }
        if changed.code {
            self.edited.get_or_insert(edited);
        }
        self.todo.manifests |= changed.manifests;
        self.todo.build |= changed.code;
        self.todo.config |= changed.config;
        self.todo.samples |= changed.samples;
        // The reason why it did not start may be gone.
        self.todo.helper |= self.helper.is_none();
    }

    /// Starts what can be started now.
    fn advance(&mut self) {
        self.todo.helper &= self.helper.is_none() && self.cluster.is_none();
        if self.job.is_none() {
            let kinds = [
                (&mut self.todo.manifests, Kind::Manifests),
                (&mut self.todo.helper, Kind::Helper),
                (&mut self.todo.build, Kind::Operator),
            ];
            let next = kinds.into_iter().find(|(is_wanted, _)| **is_wanted);
            let next = next.map(|(is_wanted, kind)| {
                *is_wanted = false;
                kind
            });
            if let Some(kind) = next {
                self.start(kind);
            }
        }
        let job = self.job.as_ref().map(|job| job.kind);
        let is_generating = self.todo.manifests || job == Some(Kind::Manifests);
        let has_operator = self.operator.is_some() && self.built.is_none();
        if self.cluster.is_some() && !is_generating {
            return self.advance_in_cluster();
        }
        let Some(helper) = &mut self.helper else {
            return;
        };
        if helper.ready.is_none() || is_generating {
            return;
        }
        let request = match helper.request {
            Some(_) => None,
            None if std::mem::take(&mut self.todo.config) => Some(Request::Config),
            // Its webhooks may have to answer.
            None if has_operator && std::mem::take(&mut self.todo.samples) => {
                Some(Request::Samples)
            }
            None => None,
        };
        if let Some(request) = request {
            helper.request = Some(request);
            helper.process.send(request.line());
        }
        // The operator may need what is being applied.
        if helper.request != Some(Request::Config) && !self.todo.config {
            self.swap();
        }
    }

    fn start(&mut self, kind: Kind) {
        let what = match kind {
            Kind::Manifests => "the manifests",
            Kind::Helper => "the API server's helper",
            Kind::Operator => self.name.as_str(),
        };
        let facts = json!({ "what": kind.word() });
        let building = Happening::new("building", Level::Note, "Building");
        self.tell(building.text(what).facts(facts));
        let sender = self.sender.clone();
        let each = move |output| drop(sender.send(Event::Job(output)));
        match Job::start(kind, self.root, &self.name, self.color, each) {
            Ok(job) => self.job = Some(job),
            Err(error) => self.fail("error", &error.to_string()),
        }
    }

    fn finished(&mut self, finished: &Finished) {
        let messages = finished.messages.join("\n");
        if !messages.trim().is_empty() {
            self.report.messages(finished.kind.word(), &messages);
        }
        match finished.kind {
            Kind::Manifests => self.generated(finished),
            _ if !finished.is_success => {
                let running = match self.operator {
                    Some(_) => "; the previous operator keeps running",
                    None => "",
                };
                self.fail("build-failed", &format!("build failed{running}"));
            }
            Kind::Helper => self.start_helper(finished),
            Kind::Operator => {
                let Some(executable) = finished.executable() else {
                    return self.fail("build-failed", "cargo named no program");
                };
                self.executable = Some(executable.clone());
                // What was built before, and never ran, is in it as well.
                let earlier = self.built.take().map(|built| built.edited);
                let edited = self.edited.take().unwrap_or(finished.started);
                let edited = earlier.map_or(edited, |earlier| earlier.min(edited));
                self.built = Some(Built {
                    executable,
                    edited,
                    begun: finished.started,
                    took: finished.started.elapsed(),
                });
            }
        }
    }

    fn generated(&mut self, finished: &Finished) {
        let made = Manifests::of(&finished.out);
        for file in &made.files {
            self.tell(
                Happening::new("written", Level::Good, "Updated")
                    .text(file)
                    .facts(json!({ "path": file })),
            );
        }
        for warning in &made.warnings {
            // Most are true until somebody does something about them.
            if !self.warned.insert(warning.clone()) {
                continue;
            }
            self.tell(Happening::warning(warning));
        }
        if !finished.is_success {
            let errors = made.errors.join("\n");
            self.fail("manifests-failed", &errors);
            // The operator could not be built either, for the same reason.
            self.todo.build &= !made.is_uncompiled;
            return;
        }
        self.look(finished.started);
        if self.todo.config {
            self.compare_crds();
        }
    }

    /// Ends everything, and waits for the API server.
    fn stop(mut self, events: &Receiver<Event>) {
        self.report.end_screen();
        self.job = None;
        self.leave_cluster(events);
        self.operator = None;
        self.testing = Testing::default();
        let Some(helper) = self.helper.take() else {
            return;
        };
        let number = helper.number;
        drop(helper);
        let end = Instant::now() + END;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match events.recv_timeout(left) {
                Ok(Event::Helper(of, Output::Ended(_))) if of == number => break,
                Ok(_) => {}
                Err(_) => break,
            }
        }
        self.tell(Happening::new("stopped", Level::Note, "Stopped").text("everything"));
    }

    pub(super) fn tell(&self, happening: Happening) {
        self.report.happening(&happening);
    }

    pub(super) fn fail(&self, event: &'static str, text: &str) {
        self.tell(Happening::new(event, Level::Bad, "Error").text(text));
    }
}
