//! Differences from given CRDs that types in Rust cannot avoid, and why. Pure.
//!
//! Only what loses no stored object is explained; everything else stays a break, which its owner can allow.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::commands::types::Types;
use crate::import::types::is_of_go;
use crate::manifests::compat::CrdChange;
use crate::manifests::json::{fields_of, is_true, list_of, schemas_in, text_of};

const OF_CONVERSION: &str = "there is one version, so nothing is converted";
const OF_DEFAULT: &str =
    "the type is Kubernetes' own, and Kubernetes sets the same default wherever it is used";
const OF_FINALIZERS: &str = "nobody merges the finalizers of a template";
const OF_INTEGER: &str = "the `IntOrString` of Kubernetes, in Go too, has 32 bits: no operator could read a larger integer";
const OF_KUBERNETES: &str =
    "the type is Kubernetes' own, as it is in the version that the project is compiled with";
const OF_MERGE: &str = "the type is Kubernetes' own, whose fields are merged one by one; controller-gen writes `atomic` where a struct \
     inlines such a type";
const OF_STATUS: &str = "it keeps no field; kube has no subresource `status` without a type";
const OF_TIME: &str = "no operator, in Go or in Rust, could read the few values that have the format and do not match, such as an offset of \
     99 hours";

/// The fields whose type is Kubernetes' own: CRD, version and path.
pub(crate) type Foreign = BTreeSet<(String, String, String)>;

pub(crate) fn foreign(types: &Types) -> Foreign {
    let mut all = Foreign::new();
    for crd in &types.crds {
        for (version, fields) in &crd.foreign {
            let name = format!("{}.{}", crd.plural, crd.group);
            let paths = fields.keys();
            all.extend(paths.map(|path| (name.clone(), version.clone(), path.clone())));
        }
    }
    all
}

/// What some CRDs say.
pub(super) struct Fields<'a> {
    /// The schemas of all fields: by CRD, version and path.
    schemas: BTreeMap<(&'a str, &'a str, String), &'a Value>,
    crds: &'a [Value],
}

impl<'a> Fields<'a> {
    pub(super) fn of(crds: &'a [Value]) -> Self {
        let mut schemas = BTreeMap::new();
        for crd in crds {
            let name = text_of(crd, "/metadata/name");
            for version in list_of(crd, "/spec/versions") {
                let version_name = text_of(version, "name");
                let all = schemas_in(&version["schema"]["openAPIV3Schema"]).into_iter();
                schemas.extend(all.map(|(path, it)| ((name, version_name, path), it)));
            }
        }
        Self { schemas, crds }
    }

    fn crd(&self, change: &CrdChange) -> Option<&'a Value> {
        self.crds
            .iter()
            .find(|crd| text_of(*crd, "/metadata/name") == change.crd)
    }

    fn has_one_version(&self, change: &CrdChange) -> bool {
        self.crd(change)
            .is_some_and(|crd| list_of(crd, "/spec/versions").len() == 1)
    }

    /// Whether controller-gen has generated the CRD of the change. It writes an integer or a string without a pattern only
    /// for the `IntOrString` of Kubernetes.
    fn is_of_go(&self, change: &CrdChange) -> bool {
        self.crd(change).is_some_and(is_of_go)
    }

    fn at(&self, change: &CrdChange) -> Option<&'a Value> {
        let version = change.version.as_deref()?;
        let key = (change.crd.as_str(), version, change.path.clone());
        self.schemas.get(&key).copied()
    }
}

/// Why a break from the given CRDs to those of the project cannot be avoided.
///
/// Objects that are stored under the given CRDs are never lost by it: what is refused is what no operator can read, or the
/// difference is in what Kubernetes itself sets.
pub(super) fn forth(
    change: &CrdChange,
    given: &Fields<'_>,
    own: &Fields<'_>,
    foreign: &Foreign,
) -> Option<&'static str> {
    let place = place_in(change, foreign);
    if change.what == "conversion-removed"
        && given.has_one_version(change)
        && own.has_one_version(change)
    {
        return Some(OF_CONVERSION);
    }
    let (was, is) = (given.at(change)?, own.at(change)?);
    let is_new = |key: &str| was.get(key).is_none();
    match change.what.as_str() {
        // A type of Kubernetes, or one with the schema of its time.
        "pattern"
            if place.is_some() && text_of(is, "format") == "date-time" && is_new("pattern") =>
        {
            Some(OF_TIME)
        }
        key @ ("maximum" | "minimum")
            if is_new(key) && is_true(is, "x-kubernetes-int-or-string") =>
        {
            let is_of_kubernetes = place == Some(Place::Below) || given.is_of_go(change);
            (place.is_some() && is_of_kubernetes).then_some(OF_INTEGER)
        }
        "default" if place == Some(Place::Below) && is_new("default") => Some(OF_DEFAULT),
        "list-type"
            if place == Some(Place::Below) && change.path.ends_with(".metadata.finalizers") =>
        {
            Some(OF_FINALIZERS)
        }
        "map-type" if place.is_some() && text_of(was, "x-kubernetes-map-type") == "atomic" => {
            Some(OF_MERGE)
        }
        _ => None,
    }
}

/// Why a break on a rollback cannot be avoided.
pub(super) fn rollback(
    change: &CrdChange,
    own: &Fields<'_>,
    foreign: &Foreign,
) -> Option<&'static str> {
    let place = place_in(change, foreign);
    match change.what.as_str() {
        "field-removed" | "required" | "default" if place == Some(Place::Below) => {
            Some(OF_KUBERNETES)
        }
        "map-type" if place.is_some() => Some(OF_MERGE),
        // It has no field that could be lost.
        "field-removed" if change.path == "status" => {
            let is_empty = own
                .at(change)
                .is_some_and(|it| fields_of(it).next().is_none());
            is_empty.then_some(OF_STATUS)
        }
        _ => None,
    }
}

/// Where a change is in a type of Kubernetes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// At the field that has the type.
    Field,
    /// In the type.
    Below,
}

fn place_in(change: &CrdChange, foreign: &Foreign) -> Option<Place> {
    let places = foreign.iter().filter_map(|(crd, version, path)| {
        let is_there = *crd == change.crd && Some(version.as_str()) == change.version.as_deref();
        let rest = change
            .path
            .strip_prefix(path.as_str())
            .filter(|_| is_there)?;
        match rest {
            "" => Some(Place::Field),
            _ if rest.starts_with(['.', '[']) => Some(Place::Below),
            _ => None,
        }
    });
    places.max_by_key(|place| *place == Place::Below)
}

#[cfg(test)]
mod tests;
