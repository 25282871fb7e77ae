//! What a change of CRDs means for stored objects and for clients. Pure: documents in, changes out.
//!
//! Both states are compared as values: versions are matched by name, and their schemas compared field by
//! field. Any change that is not known to be harmless counts as a break.

mod fields;
mod schema;

use std::fmt;

use serde_json::Value;

use super::json::{is_true, list_of, text_of};

/// One difference between two states of a CRD.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Name of the CRD.
    pub crd: String,
    /// The version, if the change is in a single version.
    pub version: Option<String>,
    /// The field, such as `spec.jobs[].name`; empty if the change is not in a field.
    pub path: String,
    /// What happened, in stable words, and to what: `field-removed`, `value-removed "A"`.
    pub what: String,
    pub is_break: bool,
    /// What it means for objects and clients.
    pub reason: String,
}

impl Difference {
    /// The key of the change in the file of intended breaks.
    pub fn key(&self) -> String {
        let version = self.version.as_deref().unwrap_or_default();
        let parts = [&self.crd, version, &self.path, &self.what];
        let parts = parts.into_iter().filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join(" ")
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.crd)?;
        if let Some(version) = &self.version {
            write!(f, " {version}")?;
        }
        if !self.path.is_empty() {
            write!(f, " `{}`", self.path)?;
        }
        write!(f, ": {}", self.reason)
    }
}

/// Collects what changed in one CRD, or in one version of it.
struct Differences<'a> {
    crd: &'a str,
    version: Option<&'a str>,
    found: &'a mut Vec<Difference>,
}

impl<'a> Differences<'a> {
    fn of(crd: &'a Value, found: &'a mut Vec<Difference>) -> Self {
        Self {
            crd: name(crd),
            version: None,
            found,
        }
    }

    fn add(
        &mut self,
        is_break: bool,
        path: &str,
        what: impl Into<String>,
        reason: impl Into<String>,
    ) {
        self.found.push(Difference {
            crd: self.crd.to_owned(),
            version: self.version.map(str::to_owned),
            path: path.to_owned(),
            what: what.into(),
            is_break,
            reason: reason.into(),
        });
    }

    fn breaks(&mut self, path: &str, what: impl Into<String>, reason: impl Into<String>) {
        self.add(true, path, what, reason);
    }

    fn safe(&mut self, path: &str, what: impl Into<String>, reason: impl Into<String>) {
        self.add(false, path, what, reason);
    }

    /// A property that is switched off, which is a break, or on. Each with what happened and its reason.
    fn switch(&mut self, path: &str, [was, is]: [bool; 2], off: [&str; 2], on: [&str; 2]) {
        match (was, is) {
            (true, false) => self.breaks(path, off[0], off[1]),
            (false, true) => self.safe(path, on[0], on[1]),
            _ => {}
        }
    }

    /// Collects what changed in one version.
    fn in_version<'v>(&'v mut self, version: &'v str) -> Differences<'v> {
        Differences {
            version: Some(version),
            crd: self.crd,
            found: self.found,
        }
    }
}

/// Everything that changed from `old` to `new`, in the order of the old documents.
pub fn compare(old: &[Value], new: &[Value]) -> Vec<Difference> {
    let mut found = Vec::new();
    let named = |crds: &[Value], crd: &Value| crds.iter().position(|it| name(it) == name(crd));
    for crd in old {
        let mut changes = Differences::of(crd, &mut found);
        match named(new, crd) {
            Some(at) => of_crd(crd, &new[at], &mut changes),
            None => changes.breaks(
                "",
                "crd-removed",
                "the CRD is removed: deleting it from a cluster also deletes its objects",
            ),
        }
    }
    for crd in new.iter().filter(|crd| named(old, crd).is_none()) {
        Differences::of(crd, &mut found).safe("", "crd-added", "the CRD is new");
    }
    found
}

fn name(crd: &Value) -> &str {
    text_of(crd, "/metadata/name")
}

fn of_crd(old: &Value, new: &Value, changes: &mut Differences<'_>) {
    if text_of(old, "/spec/scope") != text_of(new, "/spec/scope") {
        let (was, is) = (text_of(old, "/spec/scope"), text_of(new, "/spec/scope"));
        let reason = format!("the scope was {was} and is {is}: the API server refuses the change");
        changes.breaks("", "scope", reason);
    }
    names(old, new, changes);
    let converts = |crd: &Value| text_of(crd, "/spec/conversion/strategy") == "Webhook";
    changes.switch(
        "",
        [converts(old), converts(new)],
        [
            "conversion-removed",
            "objects are no longer converted by a webhook: fields that differ between versions are lost",
        ],
        ["conversion-added", "a webhook converts objects"],
    );
    stored(old, new, converts(new), changes);
    for version in list_of(old, "/spec/versions") {
        let name = text_of(version, "name");
        let mut of_version = changes.in_version(name);
        match version_of(new, name) {
            Some(new) => self::version(version, new, &mut of_version),
            None => {
                let (is_break, means) = match () {
                    () if is_true(version, "served") => (
                        true,
                        ": its clients fail, and objects that are stored in it cannot be read",
                    ),
                    () if may_be_stored(old, version) => {
                        (true, ": objects that are stored in it cannot be read")
                    }
                    () => (false, ", and was not served"),
                };
                let reason = format!("the version is removed{means}");
                of_version.add(is_break, "", "version-removed", reason);
            }
        }
    }
    for version in list_of(new, "/spec/versions") {
        let name = text_of(version, "name");
        if version_of(old, name).is_none() {
            let mut of_version = changes.in_version(name);
            of_version.safe("", "version-added", "the version is new");
        }
    }
}

/// Whether objects may be stored in that version of the CRD.
fn may_be_stored(crd: &Value, version: &Value) -> bool {
    let stored = list_of(crd, "/status/storedVersions");
    is_true(version, "storage") || stored.contains(&version["name"])
}

fn version_of<'a>(crd: &'a Value, name: &str) -> Option<&'a Value> {
    let mut versions = list_of(crd, "/spec/versions").iter();
    versions.find(|version| text_of(version, "name") == name)
}

fn names(old: &Value, new: &Value, changes: &mut Differences<'_>) {
    for (pointer, what) in [
        ("/spec/names/kind", "kind"),
        ("/spec/names/listKind", "list-kind"),
        ("/spec/names/singular", "singular"),
    ] {
        let (was, is) = (text_of(old, pointer), text_of(new, pointer));
        if was != is {
            let reason = format!("the name `{was}` is now `{is}`: clients that use `{was}` fail");
            changes.breaks("", what, reason);
        }
    }
    for (pointer, what) in [
        ("/spec/names/shortNames", "short-name"),
        ("/spec/names/categories", "category"),
    ] {
        let noun = what.replace('-', " ");
        let (was, is) = (list_of(old, pointer), list_of(new, pointer));
        for name in was.iter().filter(|name| !is.contains(name)) {
            let reason = format!("the {noun} {name} is removed");
            changes.breaks("", format!("{what}-removed {name}"), reason);
        }
        for name in is.iter().filter(|name| !was.contains(name)) {
            let reason = format!("the {noun} {name} is new");
            changes.safe("", format!("{what}-added {name}"), reason);
        }
    }
}

/// What happens to objects when the stored version changes.
fn stored(old: &Value, new: &Value, is_converted: bool, changes: &mut Differences<'_>) {
    let is_stored = |version: &&Value| is_true(version, "storage");
    let [old_versions, new_versions] = [old, new].map(|crd| list_of(crd, "/spec/versions"));
    let (Some(was), Some(is)) = (
        old_versions.iter().find(is_stored),
        new_versions.iter().find(is_stored),
    ) else {
        return;
    };
    let (from, to) = (text_of(was, "name"), text_of(is, "name"));
    if from == to {
        return;
    }
    let schema = "/schema/openAPIV3Schema";
    let other = version_of(new, from).and_then(|version| version.pointer(schema));
    if is_converted || other == is.pointer(schema) {
        let reason = format!("the stored version was `{from}` and is `{to}`");
        changes.safe("", "storage", reason);
    } else {
        let reason = format!(
            "the stored version was `{from}` and is `{to}`, and no webhook converts objects: they \
             lose every field that `{to}` does not have"
        );
        changes.breaks("", "storage", reason);
    }
}

fn version(old: &Value, new: &Value, changes: &mut Differences<'_>) {
    changes.switch(
        "",
        [old, new].map(|it| is_true(it, "served")),
        [
            "version-unserved",
            "the version is no longer served: its clients fail",
        ],
        ["version-served", "the version is served"],
    );
    if !is_true(old, "deprecated") && is_true(new, "deprecated") {
        let reason = "the version is deprecated: clients are warned";
        changes.safe("", "deprecated", reason);
    }
    if old.get("additionalPrinterColumns") != new.get("additionalPrinterColumns") {
        changes.safe("", "columns", "`kubectl get` shows other columns");
    }
    subresources(old, new, changes);
    let was = list_of(old, "selectableFields");
    let is = list_of(new, "selectableFields");
    for field in was.iter().filter(|field| !is.contains(field)) {
        let path = text_of(field, "jsonPath").trim_start_matches('.');
        let reason = "objects can no longer be selected by the field";
        changes.breaks(path, "selectable-field-removed", reason);
    }
    for field in is.iter().filter(|field| !was.contains(field)) {
        let path = text_of(field, "jsonPath").trim_start_matches('.');
        let reason = "objects can be selected by the field";
        changes.safe(path, "selectable-field-added", reason);
    }
    let schema = "/schema/openAPIV3Schema";
    if let (Some(old), Some(new)) = (old.pointer(schema), new.pointer(schema)) {
        schema::compare(old, new, changes);
    }
}

fn subresources(old: &Value, new: &Value, changes: &mut Differences<'_>) {
    let both = |pointer| (old.pointer(pointer), new.pointer(pointer));
    match both("/subresources/status") {
        (Some(_), None) => changes.breaks(
            "",
            "status-removed",
            "the subresource `status` is removed: clients that write it fail",
        ),
        (None, Some(_)) => changes.breaks(
            "",
            "status-added",
            "`status` is now a subresource: clients that write it with the rest of an object are ignored",
        ),
        _ => {}
    }
    match both("/subresources/scale") {
        (Some(_), None) => changes.breaks(
            "",
            "scale-removed",
            "the subresource `scale` is removed: `kubectl scale` and autoscalers fail",
        ),
        (Some(was), Some(is)) if was != is => {
            let reason = "the subresource `scale` reads and writes other fields";
            changes.breaks("", "scale", reason);
        }
        (None, Some(_)) => changes.safe("", "scale-added", "the subresource `scale` is new"),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
