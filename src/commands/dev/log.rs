//! The log lines of the operator, which are JSON. Pure.

use serde_json::{Map, Value};

/// What a log line means for whoever watches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Logged {
    /// An object was reconciled.
    Reconciled {
        controller: String,
        object: String,
        took: String,
        /// What asked for it; empty if an earlier runtime does not say so.
        trigger: String,
    },
    /// Anything else, with its level in lower case.
    Other {
        level: String,
        text: String,
        /// The controller and the object of the reconcile that logs it.
        reconcile: Option<(String, String)>,
        is_routine: bool,
    },
}

/// What each operator says when it is replaced. The screen shows the operators.
const ROUTINE: [&str; 4] = [
    "leading",
    "starting",
    "stopping; a second signal ends the process at once",
    "the Lease is released",
];

/// Where the runtime logs what it writes, which the screen shows with the values.
const WRITES: [&str; 4] = [
    "kbr_runtime::handle::apply",
    "kbr_runtime::handle::delete",
    "kbr_runtime::handle::finalizer",
    "kbr_runtime::handle::status",
];

/// What belongs to the line and not to its event.
const OWN: [&str; 5] = ["timestamp", "level", "message", "target", "spans"];

impl Logged {
    /// Reads a line; one that is not JSON is shown as it is.
    pub(super) fn of(line: &str) -> Self {
        let parsed: Option<Map<String, Value>> = serde_json::from_str(line).ok();
        let Some(parsed) = parsed.filter(|it| it.contains_key("level")) else {
            return Self::Other {
                level: "info".to_owned(),
                text: line.to_owned(),
                reconcile: None,
                is_routine: false,
            };
        };
        let field = |name: &str| parsed.get(name).map(plain).unwrap_or_default();
        let spans = parsed.get("spans").and_then(Value::as_array);
        let spans: Vec<_> = spans.into_iter().flatten().collect();
        let of_span = |name: &str| {
            let mut values = spans.iter().filter_map(|span| span.get(name));
            values.next().map(plain)
        };
        let message = field("message");
        let (controller, object) = (of_span("controller"), of_span("object"));
        let reconcile = controller.zip(object.clone());
        if message == "reconciled"
            && let Some((controller, object)) = reconcile
        {
            return Self::Reconciled {
                controller,
                object,
                took: field("took"),
                trigger: field("trigger"),
            };
        }
        let mut text = object.map_or_else(String::new, |object| format!("{object}: "));
        text += &message;
        for (name, value) in &parsed {
            if !OWN.contains(&name.as_str()) {
                text += &format!(" {name}={}", plain(value));
            }
        }
        let level = field("level").to_lowercase();
        let is_write = WRITES.contains(&field("target").as_str());
        let is_routine = level == "info" && (is_write || ROUTINE.contains(&message.as_str()));
        Self::Other {
            level,
            text,
            reconcile,
            is_routine,
        }
    }
}

/// A value without the quotes of JSON.
fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reconcile_is_told_from_other_lines() {
        let line = r#"{"timestamp":"2026-11-26T12:00:00Z","level":"DEBUG","message":"reconciled","took":"1.5ms","action":"Action","trigger":"pods a/b has changed","target":"kbr_runtime::reconciler","spans":[{"controller":"captain","object":"default/a","reconcile_id":"1","name":"reconcile"}]}"#;
        let expected = Logged::Reconciled {
            controller: "captain".to_owned(),
            object: "default/a".to_owned(),
            took: "1.5ms".to_owned(),
            trigger: "pods a/b has changed".to_owned(),
        };
        assert_eq!(Logged::of(line), expected);
    }

    #[test]
    fn a_line_names_its_object_and_its_fields() {
        let line = r#"{"timestamp":"2026-11-26T12:00:00Z","level":"ERROR","message":"reconcile failed","error":"no","target":"a","spans":[{"controller":"captain","object":"default/a","name":"reconcile"}]}"#;
        let expected = Logged::Other {
            level: "error".to_owned(),
            text: "default/a: reconcile failed error=no".to_owned(),
            reconcile: Some(("captain".to_owned(), "default/a".to_owned())),
            is_routine: false,
        };
        assert_eq!(Logged::of(line), expected);
    }

    #[test]
    fn the_start_and_the_end_of_an_operator_and_its_writes_are_routine_unless_they_fail() {
        for (line, expected) in [
            (
                r#"{"level":"INFO","message":"leading","lease":"a/b"}"#,
                true,
            ),
            (
                r#"{"level":"INFO","message":"waiting to lead","lease":"a/b"}"#,
                false,
            ),
            (r#"{"level":"WARN","message":"leading"}"#, false),
            (
                r#"{"level":"INFO","message":"changed","target":"kbr_runtime::handle::apply"}"#,
                true,
            ),
            (
                r#"{"level":"INFO","message":"changed","target":"captain"}"#,
                false,
            ),
        ] {
            let Logged::Other { is_routine, .. } = Logged::of(line) else {
                panic!("{line}");
            };
            assert_eq!(is_routine, expected, "{line}");
        }
    }

    #[test]
    fn what_is_no_log_line_is_shown_as_it_is() {
        for line in ["hello", "{}", "12", ""] {
            let expected = Logged::Other {
                level: "info".to_owned(),
                text: line.to_owned(),
                reconcile: None,
                is_routine: false,
            };
            assert_eq!(Logged::of(line), expected);
        }
    }
}
