//! Errors for programs: one entry per problem, with a stable code.

use std::error::Error as _;

use miette::Diagnostic;
use serde::Serialize;

use crate::error::help_of;
use crate::names::NameError;

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Problem {
    pub(crate) code: String,
    pub(crate) message: String,
    /// What to do about it; empty if the message already says it.
    pub(crate) hint: String,
}

impl Problem {
    /// Lists all problems of an error one by one. A problem without its own help gets that of the error.
    pub(crate) fn all(error: &dyn Diagnostic) -> Vec<Self> {
        let hint = help_of(error).unwrap_or_default();
        let Some(parts) = error.related() else {
            return vec![Self {
                code: error
                    .code()
                    .map(|code| code.to_string())
                    .unwrap_or_default(),
                message: error.to_string(),
                hint,
            }];
        };
        let mut problems: Vec<Self> = parts.flat_map(Self::all).collect();
        for problem in &mut problems {
            if problem.hint.is_empty() {
                problem.hint.clone_from(&hint);
            }
        }
        problems
    }
}

/// Splits clap's message about a command line that could not be parsed.
impl From<&clap::Error> for Problem {
    fn from(error: &clap::Error) -> Self {
        let text = error.render().to_string();
        let mut parts = text.split("\n\n");
        let first = parts.next().unwrap_or_default();
        let message = first.strip_prefix("error: ").unwrap_or(first);
        let tip = parts.find_map(|part| part.trim_start().strip_prefix("tip: "));
        let name = error
            .source()
            .and_then(|source| source.downcast_ref::<NameError>());
        let (message, hint) = match name {
            Some(NameError { remedy, .. }) => {
                let end = format!("; {remedy}");
                let reason = message.strip_suffix(&end).unwrap_or(message);
                (reason, remedy.as_str())
            }
            None => (message, tip.unwrap_or("try `--help`")),
        };
        Self {
            code: "usage".to_owned(),
            message: message.to_owned(),
            hint: hint.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use thiserror::Error;

    use super::*;

    #[derive(Debug, Error, Diagnostic)]
    enum Wrong {
        #[error("one")]
        #[diagnostic(code("one"), help("do this"))]
        One,
        #[error("other")]
        #[diagnostic(code("other"))]
        Other,
        #[error("several")]
        #[diagnostic(help("do that"))]
        Several(#[related] Vec<Wrong>),
    }

    #[test]
    fn problems_are_listed_one_by_one() {
        let inner = Wrong::Several(vec![Wrong::Other]);
        let error = Wrong::Several(vec![Wrong::One, inner]);
        let problem = |code: &str, hint: &str| Problem {
            code: code.to_owned(),
            message: code.to_owned(),
            hint: hint.to_owned(),
        };
        let expected = [problem("one", "do this"), problem("other", "do that")];
        assert_eq!(Problem::all(&error), expected);
    }
}
