//! What a change of CRDs means for stored objects and for clients. Pure: documents in, changes out.
//!
//! Both states are compared as values: versions are matched by name, and their schemas compared field by
//! field. Any change that is not known to be harmless counts as a break. [`normal`] first writes both in one way.

mod normal;
mod schema;

use std::fmt;

use serde_json::Value;

use super::json::{is_true, list_of, text_of};

/// One difference between two states of a CRD.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CrdChange {
    /// Name of the CRD.
    pub(crate) crd: String,
    /// The version, if the change is in a single version.
    pub(crate) version: Option<String>,
    /// The field, such as `spec.jobs[].name`; empty if the change is not in a field.
    pub(crate) path: String,
    /// What happened, in stable words, and to what: `field-removed`, `value-removed "A"`.
    pub(crate) what: String,
    pub(crate) is_break: bool,
    /// What it means for objects and clients.
    pub(crate) reason: String,
}

impl CrdChange {
    /// The key of the change in the file of intended breaks.
    pub(crate) fn key(&self) -> String {
        let version = self.version.as_deref().unwrap_or_default();
        let mut parts = vec![&*self.crd, version, &self.path, &self.what];
        parts.retain(|part| !part.is_empty());
        parts.join(" ")
    }

    /// Where it is, for a message.
    pub(crate) fn place(&self) -> String {
        let mut place = format!("`{}`", self.crd);
        if let Some(version) = &self.version {
            place += &format!(" {version}");
        }
        if !self.path.is_empty() {
            place += &format!(" `{}`", self.path);
        }
        place
    }
}

impl fmt::Display for CrdChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place(), self.reason)
    }
}

/// Collects what changed: now in the CRD of that name, or in that version of it.
#[derive(Default)]
struct CrdChanges<'a> {
    crd: &'a str,
    version: Option<&'a str>,
    found: Vec<CrdChange>,
}

impl CrdChanges<'_> {
    fn add(
        &mut self,
        is_break: bool,
        path: &str,
        what: impl Into<String>,
        reason: impl Into<String>,
    ) {
        self.found.push(CrdChange {
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

    /// A change that means the same for every field and value.
    fn plain(&mut self, is_break: bool, path: &str, what: &str) {
        self.add(is_break, path, what, meaning(what, is_break));
    }

    /// What is there or not: that it goes, which is a break, or comes.
    fn switch(&mut self, path: &str, was_is: [bool; 2], [off, on]: [&str; 2]) {
        match was_is {
            [true, false] => self.plain(true, path, off),
            [false, true] => self.plain(false, path, on),
            _ => {}
        }
    }

    /// Values of a list that are removed, which is a break, or new.
    fn members(&mut self, path: &str, [was, is]: [&[Value]; 2], what: &str, removed: &str) {
        let noun = what.replace('-', " ");
        for value in was.iter().filter(|value| !is.contains(value)) {
            let reason = format!("the {noun} {value} is {removed}");
            self.breaks(path, format!("{what}-removed {value}"), reason);
        }
        for value in is.iter().filter(|value| !was.contains(value)) {
            let reason = format!("the {noun} {value} is new");
            self.safe(path, format!("{what}-added {value}"), reason);
        }
    }
}

/// What a plain change means for objects and clients.
fn meaning(what: &str, is_break: bool) -> &'static str {
    match what {
        "columns" => "`kubectl get` shows other columns",
        "conversion-added" => "a webhook converts objects",
        "conversion-removed" => {
            "objects are no longer converted by a webhook: fields that differ between versions are lost"
        }
        "crd-added" => "the CRD is new",
        "crd-removed" => "the CRD is removed: deleting it from a cluster also deletes its objects",
        "deprecated" => "the version is deprecated: clients are warned",
        "deprecation-warning" => "clients of the version are warned with another text",
        "deprecation-removed" => "the version is no longer deprecated",
        "field-added" if is_break => "any value was allowed: values that do not fit are refused",
        "field-added" => "the field is new",
        "field-removed" if is_break => "the field is removed, and its values are lost",
        "field-removed" => "the schema no longer lists the field, but its values are kept",
        "null" if is_break => "null is refused, or replaced by the default",
        "null" => "null is allowed",
        "optional" => "the field may be omitted",
        "required" if is_break => "the field is required: objects without it are refused",
        "required" => "the field is required, and has a default",
        "scale" => "the subresource `scale` reads and writes other fields",
        "scale-added" => "the subresource `scale` is new",
        "scale-removed" => {
            "the subresource `scale` is removed: `kubectl scale` and autoscalers fail"
        }
        "selectable-field-added" => "objects can be selected by the field",
        "selectable-field-removed" => "objects can no longer be selected by the field",
        "status-added" => {
            "`status` is now a subresource: clients that write it with the rest of an object are ignored"
        }
        "status-removed" => "the subresource `status` is removed: clients that write it fail",
        "unknown-fields" if is_break => "fields that the schema does not list are no longer kept",
        "unknown-fields" => "fields that the schema does not list are kept",
        "values" if is_break => "only listed values are allowed: others are refused",
        "values" => "any value is allowed",
        "version-added" => "the version is new",
        "version-served" => "the version is served",
        "version-unserved" => "the version is no longer served: its clients fail",
        _ => "",
    }
}

/// Everything that changed from `old` to `new`, in the order of the old documents.
pub(crate) fn compare(old: &[Value], new: &[Value]) -> Vec<CrdChange> {
    let normal = |crds: &[Value]| crds.iter().map(normal::crd).collect::<Vec<_>>();
    let (old, new) = (&normal(old)[..], &normal(new)[..]);
    let mut changes = CrdChanges::default();
    let is_added = |crd: &&Value| old.iter().all(|it| name(it) != name(crd));
    for crd in old.iter().chain(new.iter().filter(is_added)) {
        (changes.crd, changes.version) = (name(crd), None);
        let was_is = [old, new].map(|crds| crds.iter().find(|it| name(it) == name(crd)));
        let exists = was_is.map(|crd| crd.is_some());
        changes.switch("", exists, ["crd-removed", "crd-added"]);
        if let [Some(was), Some(is)] = was_is {
            of_crd(was, is, &mut changes);
        }
    }
    changes.found
}

fn name(crd: &Value) -> &str {
    text_of(crd, "/metadata/name")
}

fn of_crd<'a>(old: &'a Value, new: &'a Value, changes: &mut CrdChanges<'a>) {
    let [was, is] = [old, new].map(|crd| text_of(crd, "/spec/scope"));
    if was != is {
        let reason = format!("the scope was {was} and is {is}: the API server refuses the change");
        changes.breaks("", "scope", reason);
    }
    names(old, new, changes);
    let converts = [old, new].map(|it| text_of(it, "/spec/conversion/strategy") == "Webhook");
    changes.switch("", converts, ["conversion-removed", "conversion-added"]);
    stored(old, new, converts[1], changes);
    for version in list_of(old, "/spec/versions") {
        let name = text_of(version, "name");
        changes.version = Some(name);
        if let Some(new) = version_of(new, name) {
            self::version(version, new, changes);
            continue;
        }
        let is_served = is_true(version, "served");
        // Whether objects may be stored in it.
        let is_stored = is_true(version, "storage")
            || list_of(old, "/status/storedVersions").contains(&version["name"]);
        let means = match is_stored {
            _ if is_served => {
                ": its clients fail, and objects that are stored in it cannot be read"
            }
            true => ": objects that are stored in it cannot be read",
            false => ", and was not served",
        };
        let reason = format!("the version is removed{means}");
        changes.add(is_served || is_stored, "", "version-removed", reason);
    }
    for version in list_of(new, "/spec/versions") {
        let name = text_of(version, "name");
        changes.version = Some(name);
        if version_of(old, name).is_none() {
            changes.plain(false, "", "version-added");
        }
    }
}

fn version_of<'a>(crd: &'a Value, name: &str) -> Option<&'a Value> {
    let mut versions = list_of(crd, "/spec/versions").iter();
    versions.find(|version| text_of(version, "name") == name)
}

fn names(old: &Value, new: &Value, changes: &mut CrdChanges<'_>) {
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
        let both = [old, new].map(|crd| list_of(crd, pointer));
        changes.members("", both, what, "removed");
    }
}

/// What happens to objects when the stored version changes.
fn stored(old: &Value, new: &Value, is_converted: bool, changes: &mut CrdChanges<'_>) {
    let [Some(was), Some(is)] = [old, new].map(|crd| {
        let mut versions = list_of(crd, "/spec/versions").iter();
        versions.find(|version| is_true(version, "storage"))
    }) else {
        return;
    };
    let (from, to) = (text_of(was, "name"), text_of(is, "name"));
    if from == to {
        return;
    }
    let schema = "/schema/openAPIV3Schema";
    let other = version_of(new, from).and_then(|version| version.pointer(schema));
    let is_break = !is_converted && other != is.pointer(schema);
    let mut reason = format!("the stored version was `{from}` and is `{to}`");
    if is_break {
        reason += ", and no webhook converts objects: they lose every field that";
        reason += &format!(" `{to}` does not have");
    }
    changes.add(is_break, "", "storage", reason);
}

fn version(old: &Value, new: &Value, changes: &mut CrdChanges<'_>) {
    let both = |key: &str| [old, new].map(|it| is_true(it, key));
    changes.switch("", both("served"), ["version-unserved", "version-served"]);
    let warnings = [old, new].map(|it| it.get("deprecationWarning"));
    match both("deprecated") {
        [false, true] => changes.plain(false, "", "deprecated"),
        [true, false] => changes.plain(false, "", "deprecation-removed"),
        [true, true] if warnings[0] != warnings[1] => {
            changes.plain(false, "", "deprecation-warning");
        }
        _ => {}
    }
    if old.get("additionalPrinterColumns") != new.get("additionalPrinterColumns") {
        changes.plain(false, "", "columns");
    }
    subresources(old, new, changes);
    let [was, is] = [old, new].map(|it| list_of(it, "selectableFields"));
    let added = is.iter().filter(|field| !was.contains(field));
    for field in was.iter().filter(|field| !is.contains(field)).chain(added) {
        let path = text_of(field, "jsonPath").trim_start_matches('.');
        let was_is = [was, is].map(|fields| fields.contains(field));
        let what = ["selectable-field-removed", "selectable-field-added"];
        changes.switch(path, was_is, what);
    }
    let schema = "/schema/openAPIV3Schema";
    if let (Some(old), Some(new)) = (old.pointer(schema), new.pointer(schema)) {
        schema::node("", old, new, changes);
    }
}

fn subresources(old: &Value, new: &Value, changes: &mut CrdChanges<'_>) {
    match [old, new].map(|it| it.pointer("/subresources/status").is_some()) {
        [true, false] => changes.plain(true, "", "status-removed"),
        [false, true] => changes.plain(true, "", "status-added"),
        _ => {}
    }
    let scales = [old, new].map(|it| it.pointer("/subresources/scale"));
    let scale_exists = scales.map(|scale| scale.is_some());
    changes.switch("", scale_exists, ["scale-removed", "scale-added"]);
    if scale_exists == [true; 2] && scales[0] != scales[1] {
        changes.plain(true, "", "scale");
    }
}

#[cfg(test)]
mod tests;
