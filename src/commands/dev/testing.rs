//! The tests of what has changed, which run beside everything else.

use serde_json::json;

use super::Event;
use super::affected;
use super::session::{self, Session};
use crate::report::{Happening, Level};
use crate::toolchain::child::{Child, Line, Output};
use crate::tree::Tree;

/// Where the tests find the API server's binaries.
pub(super) const ASSETS: &str = "KUBEBUILDER_ASSETS";

/// What is known about tests.
#[derive(Default)]
pub(super) struct Testing {
    /// The project when tests last began, or at the start.
    tested: Tree,
    running: Option<Running>,
}

impl Testing {
    pub(super) fn new(tree: &Tree) -> Self {
        Self {
            tested: tree.clone(),
            running: None,
        }
    }
}

/// Tests that run.
struct Running {
    /// Killed when this is dropped.
    _process: Child,
    /// What cargo and the tests printed, except for a line for each test.
    output: Vec<String>,
    passed: usize,
    failed: usize,
}

impl Session<'_> {
    /// Runs the tests of the controllers, webhooks and policies that have changed since the last time.
    pub(super) fn test(&mut self) {
        if self.testing.running.is_some() {
            return self.tell(Happening::note("the tests are still running"));
        }
        let names = affected::tests(&self.testing.tested, &self.tree);
        if names.is_empty() {
            let text = "no controller, webhook, policy or test has changed since the last tests; \
                        `make test` runs all of them";
            return self.tell(Happening::note(text));
        }
        let names: Vec<_> = names.into_iter().collect();
        // In a cluster of the user, nothing else needs them.
        let binaries = match session::binaries(self.root) {
            Ok(binaries) => binaries,
            Err(error) => return self.fail("error", &error.to_string()),
        };
        let line = Line::new("cargo", &["test", "--color", "never", "--"])
            .and(&names)
            .with(ASSETS, &binaries);
        let sender = self.sender.clone();
        let each = move |output| drop(sender.send(Event::Tests(output)));
        match Child::start(&line, self.root, each) {
            Ok(process) => {
                let text = names.join(" ");
                let testing = Happening::new("testing", Level::Note, "Testing");
                self.tell(testing.text(&text).facts(json!({ "names": names })));
                self.testing = Testing {
                    tested: self.tree.clone(),
                    running: Some(Running {
                        _process: process,
                        output: Vec::new(),
                        passed: 0,
                        failed: 0,
                    }),
                };
            }
            Err(error) => self.fail("error", &error.to_string()),
        }
    }

    /// Shows each test when it ends, and the rest if one has failed.
    pub(super) fn tests(&mut self, output: Output) {
        let Some(running) = &mut self.testing.running else {
            return;
        };
        let line = match output {
            Output::Out(line) | Output::Err(line) => line,
            Output::Ended(code) => return self.tested(code == Some(0)),
        };
        let ended = ended(&line).map(|(name, outcome)| (name.to_owned(), outcome.to_owned()));
        let Some((test, outcome)) = ended else {
            if !is_progress(&line) {
                running.output.push(line);
            }
            return;
        };
        let (level, word) = match outcome.as_str() {
            "ok" => (Level::Good, "Passed"),
            "FAILED" => (Level::Bad, "Failed"),
            _ => (Level::Note, "Ignored"),
        };
        running.passed += usize::from(level == Level::Good);
        running.failed += usize::from(level == Level::Bad);
        let facts = json!({ "test": test, "outcome": word.to_lowercase() });
        self.tell(Happening::new("test", level, word).text(&test).facts(facts));
    }

    fn tested(&mut self, is_success: bool) {
        let Some(running) = self.testing.running.take() else {
            return;
        };
        let Running { passed, failed, .. } = running;
        let facts = json!({ "passed": passed, "failed": failed });
        if is_success {
            let text = match passed {
                0 => "no tests match".to_owned(),
                count => format!("{count} passed"),
            };
            let tested = Happening::new("tested", Level::Good, "Tested");
            return self.tell(tested.text(&text).facts(facts));
        }
        let output = running.output.join("\n");
        self.report.messages("tests", output.trim());
        let text = match failed {
            0 => "could not be built or ended early".to_owned(),
            count => format!("{count} failed, {passed} passed"),
        };
        let tested = Happening::new("tests-failed", Level::Bad, "Tested");
        self.tell(tested.text(&text).facts(facts));
    }
}

/// The name and the outcome of a test, from its line.
fn ended(line: &str) -> Option<(&str, &str)> {
    let (name, outcome) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    let outcome = outcome.split([',', ' ']).next()?;
    ["ok", "FAILED", "ignored"]
        .contains(&outcome)
        .then_some((name, outcome))
}

/// Whether cargo only says what it does.
fn is_progress(line: &str) -> bool {
    let word = line.split_whitespace().next().unwrap_or_default();
    line.starts_with("  ")
        && [
            "Blocking",
            "Compiling",
            "Downloaded",
            "Downloading",
            "Finished",
            "Fresh",
            "Locking",
        ]
        .contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_a_test_ended() {
        assert_eq!(ended("test a::b ... ok"), Some(("a::b", "ok")));
        assert_eq!(ended("test a::b ... FAILED"), Some(("a::b", "FAILED")));
        assert_eq!(
            ended("test a::b ... ignored, slow"),
            Some(("a::b", "ignored"))
        );
        assert_eq!(
            ended("test a - should panic ... ok"),
            Some(("a - should panic", "ok"))
        );
        for line in [
            "test result: ok. 1 passed",
            "test a has been running",
            "hello ... ok",
            "",
        ] {
            assert_eq!(ended(line), None, "{line}");
        }
    }

    #[test]
    fn what_cargo_does_is_not_what_it_says() {
        assert!(is_progress("   Compiling a v1"));
        assert!(!is_progress("error: no"));
        assert!(!is_progress("  --> Compiling"));
    }
}
