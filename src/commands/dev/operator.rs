//! The operator that runs: how it is replaced, and what it and the API server say.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::json;

use super::Event;
use super::log::Logged;
use super::pause::VARIABLE;
use super::session::Session;
use crate::report::{Happening, Level};
use crate::toolchain::child::{Child, Line, Output};

/// What the operator logs: the reconciles, and what it logs without RUST_LOG.
const RUST_LOG: &str =
    "kube_client::client::builder=off,kube_runtime::watcher=off,kbr_runtime::reconciler=debug";

/// An operator that was built and does not run yet.
pub(super) struct Built {
    pub(super) executable: PathBuf,
    /// Time of the oldest edit in this build.
    pub(super) edited: Instant,
    /// When the build began.
    pub(super) begun: Instant,
    /// How long it took.
    pub(super) took: Duration,
}

/// An operator that runs.
pub(super) struct Operator {
    pub(super) number: u32,
    pub(super) process: Child,
    pub(super) is_stopping: bool,
    /// The times that the first reconcile is measured from; `None` after it.
    waits: Option<Times>,
}

struct Times {
    edited: Instant,
    begun: Instant,
    built: Duration,
    started: Instant,
}

impl Times {
    /// The seconds from the edit to `now`, by what they were spent on, in order.
    fn phases(&self, now: Instant) -> [(&'static str, &'static str, f64); 4] {
        let built = self.begun + self.built;
        let spans = [
            (
                "wait",
                "before the build",
                self.begun.saturating_duration_since(self.edited),
            ),
            ("build", "building", self.built),
            (
                "swap",
                "until the start",
                self.started.saturating_duration_since(built),
            ),
            (
                "start",
                "starting",
                now.saturating_duration_since(self.started),
            ),
        ];
        spans.map(|(name, text, span)| (name, text, span.as_secs_f64()))
    }
}

impl Session<'_> {
    /// Replaces the operator if another was built: the running one is asked to end, so that it finishes its reconciles and
    /// hands its Lease over.
    pub(super) fn swap(&mut self) {
        if self.built.is_none() || self.launch.is_none() {
            return;
        }
        if let Some(operator) = &mut self.operator {
            if !operator.is_stopping {
                operator.is_stopping = true;
                operator.process.terminate();
            }
            return;
        }
        let (Some(built), Some(launch)) = (self.built.take(), self.launch.clone()) else {
            return;
        };
        let mut line = Line::new(&built.executable, &launch.arguments)
            .and(&["--log-format=json"])
            .and(&self.args.arguments)
            .with("RUST_LOG", RUST_LOG)
            .with(VARIABLE, "1");
        let environment = launch.environment.into_iter();
        let environment = environment.map(|(name, value)| (name.into(), value.into()));
        line.environment.extend(environment);
        self.count += 1;
        let (number, sender) = (self.count, self.sender.clone());
        let each = move |output| drop(sender.send(Event::Operator(number, output)));
        match Child::start(&line, self.root, each) {
            Ok(process) => {
                let seconds = built.edited.elapsed().as_secs_f64();
                let text = format!("{}, {seconds:.1} s after the change", self.name);
                let facts = json!({ "seconds": seconds, "build": built.took.as_secs_f64() });
                let running = Happening::new("running", Level::Good, "Running");
                self.tell(running.text(&text).facts(facts));
                let waits = Times {
                    edited: built.edited,
                    begun: built.begun,
                    built: built.took,
                    started: Instant::now(),
                };
                self.operator = Some(Operator {
                    number,
                    process,
                    is_stopping: false,
                    waits: Some(waits),
                });
            }
            Err(error) => self.fail("error", &error.to_string()),
        }
    }

    pub(super) fn operator(&mut self, number: u32, output: Output) {
        let Some(operator) = self.operator.as_mut().filter(|it| it.number == number) else {
            return;
        };
        match output {
            Output::Ended(code) => {
                let is_wanted = operator.is_stopping;
                self.operator = None;
                if !is_wanted {
                    let code = code.map_or("a signal".to_owned(), |code| code.to_string());
                    let text = format!(
                        "{} ended with {code}; it is started again after a change, or with r",
                        self.name
                    );
                    self.fail("operator-ended", &text);
                }
            }
            Output::Out(line) | Output::Err(line) => self.logged(Logged::of(&line)),
        }
    }

    /// The sentence about a reconcile.
    fn reconciled(&self, controller: &str, object: &str, took: &str, trigger: &str) -> String {
        let text = format!("{object} by {controller} in {}", rounded(took));
        let own = self
            .resources
            .get(controller)
            .map(|own| format!("{own} {object} "));
        let what = own.and_then(|own| trigger.strip_prefix(&own));
        match (what, trigger) {
            (Some(what), _) => format!("{text}, because it {what}"),
            (None, "") => text,
            (None, trigger) => format!("{text}, because {trigger}"),
        }
    }

    fn logged(&mut self, logged: Logged) {
        let (controller, object, took, trigger) = match logged {
            Logged::Reconciled {
                controller,
                object,
                took,
                trigger,
            } => (controller, object, took, trigger),
            Logged::Other {
                level,
                text,
                reconcile,
                is_routine,
            } => {
                if is_routine && self.report.has_screen() {
                    return;
                }
                let line = Happening::log(&level, &text);
                let (controller, object) = reconcile.unzip();
                let facts = json!({ "level": level, "controller": controller, "object": object });
                return self.tell(line.facts(facts));
            }
        };
        let waits = self.operator.as_mut().and_then(|it| it.waits.take());
        let text = self.reconciled(&controller, &object, &took, &trigger);
        let facts = json!({
            "controller": controller,
            "object": object,
            "took": took,
            "trigger": trigger,
        });
        self.tell(
            Happening::new("reconciled", Level::Good, "Reconciled")
                .text(&text)
                .facts(facts),
        );
        if let Some(times) = waits {
            let now = Instant::now();
            let seconds = (now - times.edited).as_secs_f64();
            let phases = times.phases(now);
            let mut facts = json!({ "seconds": seconds });
            for (name, _, seconds) in phases {
                facts[name] = seconds.into();
            }
            let parts = phases
                .into_iter()
                .filter(|(_, _, seconds)| *seconds >= 0.05);
            let parts = parts.map(|(_, text, seconds)| format!("{seconds:.1} s {text}"));
            let parts: Vec<String> = parts.collect();
            let text = format!(
                "{seconds:.1} s from the change to the first reconcile: {}",
                parts.join(", ")
            );
            let first = Happening::new("first-reconcile", Level::Good, "Took");
            self.tell(first.text(&text).facts(facts));
        }
    }
}

/// A time such as `1.234567ms` with one decimal.
fn rounded(time: &str) -> String {
    let end = time.find(|it: char| !it.is_ascii_digit() && it != '.');
    let (number, unit) = time.split_at(end.unwrap_or(time.len()));
    let number = number.parse::<f64>();
    number.map_or_else(|_| time.to_owned(), |number| format!("{number:.1}{unit}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_phases_are_the_whole_time() {
        let edited = Instant::now();
        let seconds = |seconds| edited + Duration::from_secs(seconds);
        let times = Times {
            edited,
            begun: seconds(2),
            built: Duration::from_secs(3),
            started: seconds(6),
        };
        let phases = times
            .phases(seconds(10))
            .map(|(name, _, seconds)| (name, seconds));
        assert_eq!(
            phases,
            [("wait", 2.0), ("build", 3.0), ("swap", 1.0), ("start", 4.0)]
        );
    }

    #[test]
    fn times_are_rounded() {
        for (time, expected) in [
            ("66.778065ms", "66.8ms"),
            ("253.016\u{b5}s", "253.0\u{b5}s"),
            ("2s", "2.0s"),
            ("", ""),
            ("long", "long"),
        ] {
            assert_eq!(rounded(time), expected);
        }
    }
}
