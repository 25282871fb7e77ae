//! What a change of CRDs means for stored objects and for clients. Pure: documents in, changes out.
//!
//! Both states are compared as values: versions are matched by name, and their schemas compared field by
//! field. Any change that is not known to be harmless counts as a break.

mod fields;
mod schema;

use std::fmt;

use serde_json::Value;

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

impl Differences<'_> {
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
}

/// Everything that changed from `old` to `new`, in the order of the old documents.
pub fn compare(old: &[Value], new: &[Value]) -> Vec<Difference> {
    let mut found = Vec::new();
    for crd in old {
        let name = name(crd);
        let mut changes = Differences {
            crd: name,
            version: None,
            found: &mut found,
        };
        match new.iter().find(|it| self::name(it) == name) {
            Some(new) => of_crd(crd, new, &mut changes),
            None => changes.breaks(
                "",
                "crd-removed",
                "the CRD is removed: deleting it from a cluster also deletes its objects",
            ),
        }
    }
    for crd in new {
        if old.iter().all(|it| name(it) != name(crd)) {
            let mut changes = Differences {
                crd: name(crd),
                version: None,
                found: &mut found,
            };
            changes.safe("", "crd-added", "the CRD is new");
        }
    }
    found
}

fn name(crd: &Value) -> &str {
    text(crd, "/metadata/name")
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn is_true(value: &Value, pointer: &str) -> bool {
    value
        .pointer(pointer)
        .and_then(Value::as_bool)
        .unwrap_or_default()
}

fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    let list = value.pointer(pointer).and_then(Value::as_array);
    list.map(Vec::as_slice).unwrap_or_default()
}

fn of_crd(old: &Value, new: &Value, changes: &mut Differences<'_>) {
    if text(old, "/spec/scope") != text(new, "/spec/scope") {
        let (was, is) = (text(old, "/spec/scope"), text(new, "/spec/scope"));
        let reason = format!("the scope was {was} and is {is}: the API server refuses the change");
        changes.breaks("", "scope", reason);
    }
    names(old, new, changes);
    let converts = |crd| text(crd, "/spec/conversion/strategy") == "Webhook";
    match (converts(old), converts(new)) {
        (true, false) => changes.breaks(
            "",
            "conversion-removed",
            "objects are no longer converted by a webhook: fields that differ between versions are lost",
        ),
        (false, true) => changes.safe("", "conversion-added", "a webhook converts objects"),
        _ => {}
    }
    stored(old, new, converts(new), changes);
    for version in list(old, "/spec/versions") {
        let name = text(version, "/name");
        let mut of_version = Differences {
            version: Some(name),
            crd: changes.crd,
            found: &mut *changes.found,
        };
        match version_of(new, name) {
            Some(new) => self::version(version, new, &mut of_version),
            None if is_true(version, "/served") => of_version.breaks(
                "",
                "version-removed",
                "the version is removed: its clients fail, and objects that are stored in it \
                 cannot be read",
            ),
            None if may_be_stored(old, version) => of_version.breaks(
                "",
                "version-removed",
                "the version is removed: objects that are stored in it cannot be read",
            ),
            None => of_version.safe(
                "",
                "version-removed",
                "the version is removed, and was not served",
            ),
        }
    }
    for version in list(new, "/spec/versions") {
        let name = text(version, "/name");
        if version_of(old, name).is_none() {
            let mut of_version = Differences {
                version: Some(name),
                crd: changes.crd,
                found: &mut *changes.found,
            };
            of_version.safe("", "version-added", "the version is new");
        }
    }
}

/// Whether objects may be stored in that version of the CRD.
fn may_be_stored(crd: &Value, version: &Value) -> bool {
    let stored = list(crd, "/status/storedVersions");
    is_true(version, "/storage") || stored.contains(&version["name"])
}

fn version_of<'a>(crd: &'a Value, name: &str) -> Option<&'a Value> {
    let mut versions = list(crd, "/spec/versions").iter();
    versions.find(|version| text(version, "/name") == name)
}

fn names(old: &Value, new: &Value, changes: &mut Differences<'_>) {
    for (pointer, what) in [
        ("/spec/names/kind", "kind"),
        ("/spec/names/listKind", "list-kind"),
        ("/spec/names/singular", "singular"),
    ] {
        let (was, is) = (text(old, pointer), text(new, pointer));
        if was != is {
            let reason = format!("the name `{was}` is now `{is}`: clients that use `{was}` fail");
            changes.breaks("", what, reason);
        }
    }
    for (pointer, removed, added, noun) in [
        (
            "/spec/names/shortNames",
            "short-name-removed",
            "short-name-added",
            "short name",
        ),
        (
            "/spec/names/categories",
            "category-removed",
            "category-added",
            "category",
        ),
    ] {
        let (was, is) = (list(old, pointer), list(new, pointer));
        for name in was.iter().filter(|name| !is.contains(name)) {
            changes.breaks(
                "",
                format!("{removed} {name}"),
                format!("the {noun} {name} is removed"),
            );
        }
        for name in is.iter().filter(|name| !was.contains(name)) {
            changes.safe(
                "",
                format!("{added} {name}"),
                format!("the {noun} {name} is new"),
            );
        }
    }
}

/// What happens to objects when the stored version changes.
fn stored(old: &Value, new: &Value, is_converted: bool, changes: &mut Differences<'_>) {
    let stored = |crd| {
        let mut versions = list(crd, "/spec/versions").iter();
        versions.find(|version| is_true(version, "/storage"))
    };
    let (Some(was), Some(is)) = (stored(old), stored(new)) else {
        return;
    };
    let (from, to) = (text(was, "/name"), text(is, "/name"));
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
    match (is_true(old, "/served"), is_true(new, "/served")) {
        (true, false) => changes.breaks(
            "",
            "version-unserved",
            "the version is no longer served: its clients fail",
        ),
        (false, true) => changes.safe("", "version-served", "the version is served"),
        _ => {}
    }
    if !is_true(old, "/deprecated") && is_true(new, "/deprecated") {
        changes.safe(
            "",
            "deprecated",
            "the version is deprecated: clients are warned",
        );
    }
    if old.get("additionalPrinterColumns") != new.get("additionalPrinterColumns") {
        changes.safe("", "columns", "`kubectl get` shows other columns");
    }
    subresources(old, new, changes);
    let was = list(old, "/selectableFields");
    let is = list(new, "/selectableFields");
    for field in was.iter().filter(|field| !is.contains(field)) {
        let path = text(field, "/jsonPath").trim_start_matches('.');
        let reason = "objects can no longer be selected by the field";
        changes.breaks(path, "selectable-field-removed", reason);
    }
    let is_new = |field: &&Value| !was.contains(field);
    for field in is.iter().filter(is_new) {
        let path = text(field, "/jsonPath").trim_start_matches('.');
        changes.safe(
            path,
            "selectable-field-added",
            "objects can be selected by the field",
        );
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
