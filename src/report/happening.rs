//! What happens while a command runs until somebody stops it: a line for people, or a JSON object on a line of its own.

use anstream::adapter::strip_str;
use anstyle::Style;
use serde_json::{Map, Value, json};

use super::{BAD, DONE, NOTE, Problem, Report, WARNING, WIDTH, output, speak};

/// How much attention something needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    Good,
    Note,
    Warning,
    Bad,
}

impl Level {
    pub(super) fn style(self) -> Style {
        match self {
            Self::Good => DONE,
            Self::Note => NOTE,
            Self::Warning => WARNING,
            Self::Bad => BAD,
        }
    }
}

/// One thing that has happened.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Happening {
    pub(super) event: &'static str,
    pub(super) level: Level,
    pub(super) word: &'static str,
    pub(super) text: String,
    facts: Map<String, Value>,
}

impl Happening {
    /// `event` is for programs, `word` for people.
    pub(crate) fn new(event: &'static str, level: Level, word: &'static str) -> Self {
        Self {
            event,
            level,
            word,
            text: String::new(),
            facts: Map::new(),
        }
    }

    pub(crate) fn note(text: &str) -> Self {
        Self::new("note", Level::Note, "Note").text(text)
    }

    pub(crate) fn warning(text: &str) -> Self {
        Self::new("warning", Level::Warning, "Warning").text(text)
    }

    /// A line of the operator's log with that level.
    pub(crate) fn log(level: &str, text: &str) -> Self {
        let (shown, word) = match level {
            "error" => (Level::Bad, "Error"),
            "warn" => (Level::Warning, "Warning"),
            _ => (Level::Note, "Log"),
        };
        Self::new("log", shown, word).text(text)
    }

    #[must_use]
    pub(crate) fn text(mut self, text: &str) -> Self {
        text.trim_end().clone_into(&mut self.text);
        self
    }

    /// More fields for programs; `facts` is an object.
    #[must_use]
    pub(crate) fn facts(mut self, facts: Value) -> Self {
        if let Value::Object(facts) = facts {
            self.facts = facts;
        }
        self
    }

    /// A field for programs, or null.
    pub(super) fn fact(&self, name: &str) -> &Value {
        self.facts.get(name).unwrap_or(&Value::Null)
    }

    fn json(&self) -> String {
        let level = match self.level {
            Level::Good | Level::Note => "info",
            Level::Warning => "warning",
            Level::Bad => "error",
        };
        let mut object = Map::new();
        object.insert("event".to_owned(), self.event.into());
        object.insert("severity".to_owned(), level.into());
        object.insert("text".to_owned(), self.text.clone().into());
        object.extend(self.facts.clone());
        format!("{}\n", Value::Object(object))
    }
}

/// The line of an error that ends the command.
pub(super) fn of_problem(problem: &Problem) -> String {
    let facts = json!({ "code": problem.code, "hint": problem.hint });
    let error = Happening::new("error", Level::Bad, "Error");
    error.text(&problem.message).facts(facts).json()
}

impl Report {
    /// Prints something that has happened at once, or shows it on the screen.
    pub(crate) fn happening(&self, happening: &Happening) {
        if self.document.is_some() {
            return output(happening.json().as_bytes());
        }
        if self.screen.take(happening) {
            return;
        }
        let style = happening.level.style();
        let indent = format!("\n{:1$}", "", WIDTH + 1);
        let text = happening.text.replace('\n', &indent);
        speak(&self.line(happening.word, style, &text));
    }

    /// Prints what cargo has said about `what`, as cargo has coloured it.
    pub(crate) fn messages(&self, what: &str, text: &str) {
        if self.document.is_some() {
            let said = Happening::new("compiler", Level::Note, "");
            let said = said.text(&strip_str(text).to_string());
            return self.happening(&said.facts(json!({ "what": what })));
        }
        if self.screen.take_messages(text) {
            return;
        }
        if self.is_coloured {
            speak(&format!("{text}\n"))
        } else {
            speak(&format!("{}\n", strip_str(text)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_gets_one_line_with_the_facts() {
        let happening = Happening::new("built", Level::Warning, "Built")
            .text("a\nb\n")
            .facts(json!({ "seconds": 1.5 }));
        let expected =
            "{\"event\":\"built\",\"severity\":\"warning\",\"text\":\"a\\nb\",\"seconds\":1.5}\n";
        assert_eq!(happening.json(), expected);
    }
}
