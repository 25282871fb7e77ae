//! Errors as a program reads them: one entry for each thing that is wrong, with a code that stays.

use std::error::Error as _;

use serde::Serialize;

use super::{AgainstError, Error, against};
use crate::names::NameError;

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The variant's name in kebab case, so that each variant has one.
    pub code: &'static str,
    pub message: String,
    /// What to do about it; empty where the message says all there is.
    pub hint: String,
}

impl Error {
    /// Everything that is wrong, one by one.
    pub fn problems(&self) -> Vec<Problem> {
        let problem = |message: String, hint: String| Problem {
            code: self.code(),
            message,
            hint,
        };
        match self {
            Self::Several(errors) => errors.iter().flat_map(Self::problems).collect(),
            Self::Conflicts { conflicts, .. } => {
                let one = conflicts.iter();
                one.map(|conflict| problem(conflict.to_string(), self.help()))
                    .collect()
            }
            Self::Markers(errors) => {
                let one = errors.iter();
                one.map(|error| problem(error.to_string(), error.help.clone()))
                    .collect()
            }
            Self::Types(errors) => {
                let one = errors.iter();
                one.map(|error| problem(error.to_string(), error.help().to_owned()))
                    .collect()
            }
            Self::Against(AgainstError::Break(breaks)) => {
                let one = breaks.iter();
                one.map(|it| problem(it.to_string(), against::allow(std::slice::from_ref(it))))
                    .collect()
            }
            _ => vec![problem(self.to_string(), self.help())],
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Api(error) => error.into(),
            Self::External(error) => error.into(),
            Self::Image(error) => error.into(),
            Self::Update(error) => error.into(),
            Self::Webhook(error) => error.into(),
            Self::Delete(error) => error.into(),
            Self::Rename(error) => error.into(),
            Self::Against(error) => error.into(),
            _ => self.into(),
        }
    }
}

/// A line that could not be parsed: what clap says, taken apart.
impl From<&clap::Error> for Problem {
    fn from(error: &clap::Error) -> Self {
        let text = error.render().to_string();
        let mut parts = text.split("\n\n");
        let message = parts.next().unwrap_or_default();
        let message = message.strip_prefix("error: ").unwrap_or(message);
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
            code: "usage",
            message: message.to_owned(),
            hint: hint.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use strum::VariantNames;

    use super::*;
    use crate::error::{
        AgainstError, ApiError, DeleteError, ExternalError, ImageError, RenameError, UpdateError,
        WebhookError,
    };

    /// Variants that hold other errors, which have codes of their own, or that no planning command has.
    const WRAPPERS: [&str; 10] = [
        "against", "api", "delete", "envtest", "external", "image", "rename", "several", "update",
        "webhook",
    ];

    #[test]
    fn each_error_has_a_code_of_its_own_and_the_readme_names_it() {
        let variants = [
            Error::VARIANTS,
            ApiError::VARIANTS,
            WebhookError::VARIANTS,
            DeleteError::VARIANTS,
            ExternalError::VARIANTS,
            ImageError::VARIANTS,
            UpdateError::VARIANTS,
            RenameError::VARIANTS,
            AgainstError::VARIANTS,
        ];
        let variants = variants.concat();
        let codes: BTreeSet<&str> = variants.iter().copied().chain(["usage"]).collect();
        assert_eq!(codes.len(), variants.len() + 1, "one is there twice");

        let shown = codes.into_iter().filter(|code| !WRAPPERS.contains(code));
        let shown: Vec<String> = shown.map(|code| format!("`{code}`")).collect();
        let sentence = format!("\nThe codes of errors are {}.\n", shown.join(", "));
        let readme = include_str!("../../README.md");
        assert!(readme.contains(&sentence), "README.md has no {sentence}");
    }

    #[test]
    fn what_is_wrong_is_told_one_by_one() {
        let error = Error::Several(vec![
            Error::NoAnswer,
            WebhookError::NothingWanted.into(),
            Error::OutOfDate {
                command: "manifests",
                drift: vec!["a".to_owned()],
            },
        ]);
        let problems = error.problems();
        let codes: Vec<&str> = problems.iter().map(|problem| problem.code).collect();
        assert_eq!(
            codes,
            ["no-answer", "webhook-nothing-wanted", "out-of-date"]
        );
        assert_eq!(problems[0].message, "no answer: standard input has ended");
        assert_eq!(
            problems[0].hint,
            "type `--resource` and `--controller`, each with `=true` or `=false`"
        );
    }
}
