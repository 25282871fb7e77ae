//! The helper of the project, with its API server: how it is started, and what it tells.

use std::time::{Duration, Instant};

use serde_json::json;

use super::Event;
use super::helper::{Ready, Request, Told};
use super::job::Finished;
use super::operator::Built;
use super::pause::VARIABLE;
use super::session::Session;
use super::sources::place_of_rights;
use super::testing::ASSETS;
use crate::report::{Happening, Level};
use crate::toolchain::child::{Child, Line, Output};
use crate::toolchain::environment;

/// The namespaces of an operator that watches only some; `make run-local` has the same default.
const WATCH_NAMESPACE: &str = "WATCH_NAMESPACE";

/// An API server that ends within this time would end again.
const SHORT: Duration = Duration::from_secs(10);

/// The helper of the project, with its API server.
pub(super) struct Helper {
    pub(super) number: u32,
    pub(super) process: Child,
    started: Instant,
    pub(super) ready: Option<Ready>,
    /// What it was asked for and has not done yet.
    pub(super) request: Option<Request>,
    /// What it said about its failure.
    messages: Vec<String>,
}

impl Session<'_> {
    /// Starts the helper that was built.
    pub(super) fn start_helper(&mut self, finished: &Finished) {
        let Some(program) = finished.executable() else {
            return self.fail("build-failed", "cargo named no program");
        };
        let line = Line::new(program, &[] as &[&str])
            .with(VARIABLE, "1")
            .with(ASSETS, &self.binaries)
            .with(
                WATCH_NAMESPACE,
                environment::variable(WATCH_NAMESPACE, "default"),
            );
        self.count += 1;
        let (number, sender) = (self.count, self.sender.clone());
        let each = move |output| drop(sender.send(Event::Helper(number, output)));
        match Child::start_reader(&line, self.root, each) {
            Ok(process) => {
                self.tell(
                    Happening::new("starting", Level::Note, "Starting").text("the API server"),
                );
                // It reads the present state.
                self.todo.config = false;
                self.helper = Some(Helper {
                    number,
                    process,
                    started: Instant::now(),
                    ready: None,
                    request: None,
                    messages: Vec::new(),
                });
            }
            Err(error) => self.fail("error", &error.to_string()),
        }
    }

    pub(super) fn helper(&mut self, number: u32, output: Output) {
        let Some(helper) = self.helper.as_mut().filter(|it| it.number == number) else {
            return;
        };
        match output {
            Output::Err(line) => helper.messages.push(line),
            Output::Ended(_) => self.lost_helper(),
            Output::Out(line) => match Told::of(&line) {
                Some(Told::Ready(ready)) => {
                    let seconds = helper.started.elapsed().as_secs_f64();
                    helper.ready = Some(ready.clone());
                    self.ready(&ready, seconds);
                }
                Some(Told::Operator(launch)) => self.launch = Some(launch),
                Some(Told::Done) => helper.request = None,
                Some(told) => self.told(told),
                None => {}
            },
        }
    }

    fn lost_helper(&mut self) {
        let Some(helper) = self.helper.take() else {
            return;
        };
        self.operator = None;
        // The next one has other objects.
        self.paused.clear();
        let messages = helper.messages.join("\n");
        if helper.ready.is_none() {
            let text = format!(
                "the API server did not start; kbr will retry after the next change\n{messages}"
            );
            return self.fail("api-server-failed", &text);
        }
        let is_lasting = helper.started.elapsed() > SHORT;
        let when = if is_lasting { "now" } else { "after a change" };
        let text = format!(
            "the API server has ended, with all objects; it is started again {when}\n{messages}"
        );
        self.fail("api-server-ended", &text);
        self.todo.helper = is_lasting;
        self.todo.samples = self.args.samples;
        self.built = self.executable.clone().map(|executable| Built {
            executable,
            edited: Instant::now(),
            begun: Instant::now(),
            took: Duration::ZERO,
        });
    }

    fn ready(&self, ready: &Ready, seconds: f64) {
        let kubeconfig = ready.kubeconfig.display();
        self.tell(
            Happening::new("ready", Level::Good, "Ready")
                .text(&format!("KUBECONFIG={kubeconfig} after {seconds:.1} s"))
                .facts(json!({ "kubeconfig": ready.kubeconfig, "logs": ready.logs })),
        );
        if !ready.has_controllers {
            let text = "Deployments and Jobs get no pods without kube-controller-manager: type \
                        `kbr envtest use --with-controller-manager` and start again";
            self.tell(Happening::warning(text));
        }
    }

    /// Shows what the helper tells, except for what it is about itself.
    fn told(&self, told: Told) {
        let (happening, facts) = match told {
            Told::Applied { object, what } => (
                Happening::new("applied", Level::Good, "Applied")
                    .text(&format!("{object}: {what}")),
                json!({ "object": object, "what": what }),
            ),
            Told::Refused { object, reason } => (
                Happening::new("refused", Level::Bad, "Refused")
                    .text(&format!("{object}: {reason}")),
                json!({ "object": object, "reason": reason }),
            ),
            Told::Note { text } => (Happening::note(&text), json!({})),
            Told::Misfit {
                object,
                field,
                reason,
            } => (
                Happening::new("misfit", Level::Warning, "Misfit")
                    .text(&format!("{object} `{field}`: {reason}")),
                json!({ "object": object, "field": field, "reason": reason }),
            ),
            Told::MissingRight {
                marker,
                controller,
                message,
            } => {
                let place = controller
                    .as_deref()
                    .and_then(|name| place_of_rights(&self.tree, name));
                let shown = match (&place, &controller) {
                    (Some(place), _) => format!("at {place}"),
                    (None, Some(name)) => format!("above the reconcile of the controller `{name}`"),
                    (None, None) => "above the function that needs it".to_owned(),
                };
                // The marker is a line of its own, to paste it.
                let text = format!("missing permission: add this {shown}\n{marker}\n{message}");
                (
                    Happening::new("missing-right", Level::Bad, "Refused").text(&text),
                    json!({ "marker": marker, "controller": controller, "place": place }),
                )
            }
            Told::Wrote(wrote) => return self.tell(wrote.happening()),
            Told::Operator(_) | Told::Ready(_) | Told::Done | Told::Other => return,
        };
        self.tell(happening.facts(facts));
    }
}
