// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The permissions of a role, taken apart: one verb on one resource of one group, or on one URL.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::audit::AuditedRequest;

const GROUPS: &str = "apiGroups";
const RESOURCES: &str = "resources";
const NAMES: &str = "resourceNames";
const URLS: &str = "nonResourceURLs";
const VERBS: &str = "verbs";

/// The lists of words in a rule. It allows every combination of one word from each list.
const LISTS: [&str; 5] = [GROUPS, RESOURCES, NAMES, URLS, VERBS];

/// A single permission of a rule: a rule with one word in each list.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Grant(BTreeMap<String, String>);

impl Grant {
    /// All permissions of a rule.
    pub(super) fn all(rule: &Value) -> Vec<Self> {
        let lists = LISTS.map(|list| (list, words(&rule[list])));
        let lists = lists.iter().filter(|(_, words)| !words.is_empty());
        lists.fold(vec![Self(BTreeMap::new())], |grants, (list, words)| {
            let with = |grant: &Self, word: &&str| {
                let mut grant = grant.clone();
                grant.0.insert((*list).to_owned(), (*word).to_owned());
                grant
            };
            let combine = |grant| words.iter().map(move |word| with(grant, word));
            grants.iter().flat_map(combine).collect()
        })
    }

    /// The rules that allow what `rule` does, except for this permission.
    pub(super) fn out_of(&self, rule: &Value) -> Vec<Value> {
        if !Self::all(rule).contains(self) {
            return vec![rule.clone()];
        }
        let (mut rule, mut rest) = (rule.clone(), Vec::new());
        for (list, word) in &self.0 {
            let mut others = words(&rule[list]);
            others.retain(|other| other != word);
            if !others.is_empty() {
                let others = json!(others);
                let mut with_others = rule.clone();
                with_others[list] = others;
                rest.push(with_others);
            }
            rule[list] = json!([word]);
        }
        rest
    }

    fn new(group: &str, resource: &str, verb: &str) -> Self {
        let words = [(GROUPS, group), (RESOURCES, resource), (VERBS, verb)];
        Self(
            words
                .map(|(list, word)| (list.to_owned(), word.to_owned()))
                .into(),
        )
    }

    /// Whether it allows the update of that object.
    pub(super) fn allows_update_of(&self, resource: &str, name: &str) -> bool {
        let words = [(RESOURCES, resource), (NAMES, name), (VERBS, "update")];
        words
            .iter()
            .all(|(list, word)| self.0.get(*list).is_some_and(|it| it == word))
    }

    /// Whether it allows to change objects of a resource, or a subresource of them.
    #[cfg(feature = "crash")]
    pub(super) fn allows_a_write_of(&self, group: &str, resource: &str) -> bool {
        let mut whole = self.clone();
        let word = self.word(RESOURCES);
        let word = word.split_once('/').map_or(word, |(resource, _)| resource);
        whole.0.insert(RESOURCES.to_owned(), word.to_owned());
        let writes = ["create", "delete", "deletecollection", "patch", "update"];
        let mut writes = writes.iter();
        writes.any(|verb| whole.covers(&Self::new(group, resource, verb)))
    }

    /// The permission that would have allowed a refused request for a resource.
    #[cfg_attr(
        not(feature = "manager"),
        allow(dead_code, reason = "only for a running operator")
    )]
    pub(super) fn missed_by(request: &AuditedRequest) -> Option<Self> {
        // A server-side apply that creates an object needs both.
        let verbs = [&request.verb, "create"];
        let grants = verbs.map(|verb| Self::new(&request.group, &request.resource, verb));
        grants.into_iter().find(|grant| grant.is_missed_by(request))
    }

    /// The permission that allows a request, if it is for a resource.
    pub(super) fn for_request(request: &AuditedRequest) -> Option<Self> {
        let is_resource = !request.resource.is_empty();
        is_resource.then(|| Self::new(&request.group, &request.resource, &request.verb))
    }

    fn word(&self, list: &str) -> &str {
        self.0.get(list).map_or("", String::as_str)
    }

    /// Whether it has a wildcard, so that its permissions cannot be listed.
    pub(super) fn is_wildcard(&self) -> bool {
        self.0.values().any(|word| word.contains('*'))
    }

    /// Whether it allows what `other` does, at least for objects with some name: `other` has no
    /// wildcard and no name.
    pub(super) fn covers(&self, other: &Self) -> bool {
        let lists = self.0.iter().filter(|(list, _)| *list != NAMES);
        lists.into_iter().all(|(list, word)| {
            let (wanted, part) = (other.word(list), word.strip_prefix('*'));
            word == wanted || part.is_some_and(|part| wanted.ends_with(part))
        })
    }

    /// Whether the API server's refusal of a request says that this permission is missing.
    pub(super) fn is_missed_by(&self, request: &AuditedRequest) -> bool {
        let verb = self.word(VERBS);
        let missed = match self.0.get(URLS) {
            Some(url) => format!(" cannot {verb} path \"{url}\""),
            None => format!(
                " cannot {verb} resource \"{}\" in API group \"{}\"",
                self.word(RESOURCES),
                self.word(GROUPS)
            ),
        };
        let name = self.0.get(NAMES);
        request.code == 403
            && request.message.contains(&missed)
            && (name.is_none() || name == request.name.as_ref())
    }

    /// Whether an admission plugin refused a request because this permission is missing: some
    /// plugins check permissions besides the one for the request itself.
    pub(super) fn is_missed_by_admission_of(&self, request: &AuditedRequest) -> bool {
        let (group, resource) = (self.word(GROUPS), self.word(RESOURCES));
        let says = |text: &str| request.code == 403 && request.message.contains(text);
        match self.word(VERBS) {
            // The message does not say whose finalizers.
            "update" if resource.ends_with("/finalizers") && says("can't set finalizers on") => {
                true
            }
            "delete" if says("an ownerRef on a resource you can't delete") => {
                request.group == group && request.resource == resource
            }
            verb => {
                let rule = format!("APIGroups:[\"{group}\"], Resources:[\"{resource}\"], ");
                says("permissions not currently held")
                    && says(&rule)
                    && says(&format!("Verbs:[\"{verb}\"]"))
            }
        }
    }
}

/// Shows the marker that grants it.
impl fmt::Display for Grant {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("// +kbr:rbac:")?;
        match self.0.get(URLS) {
            Some(url) => write!(formatter, "urls={url}")?,
            None => {
                let group = Some(self.word(GROUPS)).filter(|group| !group.is_empty());
                let (group, resource) = (group.unwrap_or("core"), self.word(RESOURCES));
                write!(formatter, "groups={group},resources={resource}")?;
            }
        }
        if let Some(name) = self.0.get(NAMES) {
            write!(formatter, ",resourceNames={name}")?;
        }
        write!(formatter, ",verbs={}", self.word(VERBS))
    }
}

/// The items of a list; none if it is not a list.
pub(super) fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn words(list: &Value) -> Vec<&str> {
    items(list).filter_map(Value::as_str).collect()
}

#[cfg(test)]
mod tests;
