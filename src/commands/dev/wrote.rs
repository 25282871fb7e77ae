//! What the operator has written, as the helper tells it. Pure.

use serde::Deserialize;
use serde_json::json;

use crate::report::{Happening, Level};

/// How many lines of a diff a person sees.
const SHOWN: usize = 12;

/// A write of the operator.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Wrote {
    verb: String,
    /// Its kind, and its name with the namespace.
    object: String,
    subresource: Option<String>,
    controller: Option<String>,
    /// The name of the object that controls it, with the namespace.
    owner: Option<String>,
    /// What has changed, a line for each field.
    diff: Vec<String>,
}

impl Wrote {
    fn text(&self) -> String {
        let mut text = format!("{} {}", self.verb, self.object);
        if let Some(subresource) = &self.subresource {
            text += &format!(" {subresource}");
        }
        if let Some(controller) = &self.controller {
            text += &format!(" by {controller}");
        }
        for line in self.diff.iter().take(SHOWN) {
            text += &format!("\n{line}");
        }
        let more = self.diff.len().saturating_sub(SHOWN);
        if more > 0 {
            text += &format!("\n... and {more} more fields");
        }
        text
    }

    pub(super) fn happening(&self) -> Happening {
        let facts = json!({
            "verb": self.verb,
            "object": self.object,
            "subresource": self.subresource,
            "controller": self.controller,
            "owner": self.owner,
            "diff": self.diff,
        });
        let wrote = Happening::new("wrote", Level::Note, "Wrote");
        wrote.text(&self.text()).facts(facts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_diff_is_cut_for_people_only() {
        let wrote = Wrote {
            verb: "apply".to_owned(),
            object: "Captain default/a".to_owned(),
            subresource: Some("status".to_owned()),
            controller: Some("captain".to_owned()),
            owner: None,
            diff: (0..20)
                .map(|number| format!("+ spec.f{number}: 1"))
                .collect(),
        };
        let text = wrote.text();
        assert!(text.starts_with("apply Captain default/a status by captain\n+ spec.f0: 1\n"));
        assert!(
            text.ends_with("+ spec.f11: 1\n... and 8 more fields"),
            "{text}"
        );
    }
}
