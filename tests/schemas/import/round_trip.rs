//! Objects under the given CRDs: the sample of each kind, and others that are drawn from its schema. Each is stored by an API server,
//! read and written by Rust, and stored again.

use std::thread;
use std::time::{Duration, Instant};

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use super::project::Imported;
use super::same::canonical;
use super::testing::values_of;
use crate::support::api_server::api_server;

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// How many objects are drawn at most, for each that must be stored: an API server refuses those that break a rule, or a keyword that
/// drawing does not respect.
const DRAWS: usize = 20;

/// How long to wait for the API server to use a CRD. Usually it takes moments.
const UPTAKE: Duration = Duration::from_secs(60);

/// Tries every version of every kind. Returns the columns of the table.
pub fn all(imported: &Imported, objects: usize) -> Result<String, String> {
    let (mut stored, mut refused, mut without) = (0, 0, Vec::new());
    for crd in &imported.given {
        for version in crd["spec"]["versions"].as_array().into_iter().flatten() {
            let tried = Trip::of(imported, crd, version).all(objects)?;
            stored += tried.0;
            refused += tried.1;
            if tried.0 == 0 {
                without.push(crd["spec"]["names"]["kind"].as_str().unwrap_or_default());
            }
        }
    }
    let without = match without.is_empty() {
        true => String::new(),
        false => format!(" (none of {})", without.join(", ")),
    };
    Ok(format!("{stored}{without} | {refused}"))
}

/// One version of a kind, in a group of its own.
struct Trip<'a> {
    imported: &'a Imported,
    version: &'a Value,
    crd: Value,
    group: String,
    /// The group that the type belongs to.
    own_group: String,
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

impl<'a> Trip<'a> {
    fn of(imported: &'a Imported, crd: &Value, version: &'a Value) -> Self {
        let own_group = text(&crd["spec"]["group"]).to_owned();
        let group = format!("{}.{own_group}", text(&version["name"]));
        let mut alone = version.clone();
        alone["served"] = json!(true);
        alone["storage"] = json!(true);
        // Without subresources, `status` is written with the rest of an object.
        if let Some(alone) = alone.as_object_mut() {
            alone.remove("subresources");
        }
        let crd = json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {
                "name": format!("{}.{group}", text(&crd["spec"]["names"]["plural"])),
                "annotations": { "api-approved.kubernetes.io": "unapproved, for a test" },
            },
            "spec": {
                "group": group,
                "names": crd["spec"]["names"],
                "scope": crd["spec"]["scope"],
                "versions": [alone],
            },
        });
        Self {
            imported,
            version,
            crd,
            group,
            own_group,
        }
    }

    /// Returns how many objects were stored, and how many refused.
    fn all(&self, objects: usize) -> Result<(usize, usize), String> {
        let kind = text(&self.crd["spec"]["names"]["kind"]);
        let version = text(&self.version["name"]);
        let path = self.imported.type_of(&self.own_group, version, kind);
        let Some(path) = path else {
            return Err(format!("{}/{version} {kind} has no type", self.own_group));
        };
        self.install()?;
        let (stored, refused) = self.stored(objects)?;
        let written = self.imported.again(path, &stored);
        let mut wrong = Vec::new();
        for (stored, written) in stored.iter().zip(written) {
            if let Err(problem) = self.is_same(stored, written) {
                wrong.push(format!(
                    "{path}: {problem}\n  stored: {}",
                    without_noise(stored)
                ));
            }
        }
        let name = text(&self.crd["metadata"]["name"]);
        api_server().request("DELETE", &format!("{CRDS}/{name}"), &Value::Null);
        match wrong.first() {
            None => Ok((stored.len(), refused)),
            Some(first) => Err(format!(
                "{} of {} objects are lost or changed, such as\n{first}",
                wrong.len(),
                stored.len()
            )),
        }
    }

    fn install(&self) -> Result<(), String> {
        let answer = api_server().request("POST", CRDS, &self.crd);
        if answer.status != 201 {
            return Err(format!("{}: {answer}", self.crd["metadata"]["name"]));
        }
        // It serves the CRD once a list succeeds.
        let start = Instant::now();
        while api_server()
            .request("GET", &self.url(), &Value::Null)
            .status
            != 200
        {
            if start.elapsed() > UPTAKE {
                return Err(format!("{} is not served", self.crd["metadata"]["name"]));
            }
            thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    fn url(&self) -> String {
        let plural = text(&self.crd["spec"]["names"]["plural"]);
        let of = format!("/apis/{}/{}", self.group, text(&self.version["name"]));
        match text(&self.crd["spec"]["scope"]) {
            "Cluster" => format!("{of}/{plural}"),
            _ => format!("{of}/namespaces/default/{plural}"),
        }
    }

    fn schema(&self) -> &Value {
        &self.version["schema"]["openAPIV3Schema"]
    }

    /// The schema of the type in the project.
    fn own_schema(&self) -> &Value {
        let is_it = |crd: &&Value| {
            crd["spec"]["names"]["kind"] == self.crd["spec"]["names"]["kind"]
                && crd["spec"]["group"] == *self.own_group
        };
        let own = self
            .imported
            .crds
            .iter()
            .find(is_it)
            .map_or(&Value::Null, |crd| &crd["spec"]["versions"]);
        let mut versions = own.as_array().into_iter().flatten();
        let version = versions.find(|version| version["name"] == self.version["name"]);
        version.map_or(
            &Value::Null,
            |version| &version["schema"]["openAPIV3Schema"],
        )
    }

    /// Draws objects until as many are stored. The sample of the project comes first.
    fn stored(&self, objects: usize) -> Result<(Vec<Value>, usize), String> {
        let schema = self.schema();
        let kind = text(&self.crd["spec"]["names"]["kind"]);
        let mut sample = self
            .imported
            .sample(&self.own_group, text(&self.version["name"]), kind);
        let strategy = values_of(schema);
        let mut runner = TestRunner::deterministic();
        let (mut stored, mut refused) = (Vec::new(), 0);
        while stored.len() < objects && stored.len() + refused < objects * DRAWS {
            let mut object = match (sample.take(), strategy.new_tree(&mut runner)) {
                (Some(sample), _) => sample,
                (None, Ok(drawn)) => drawn.current(),
                (None, Err(_)) => {
                    refused += 1;
                    continue;
                }
            };
            object["apiVersion"] = json!(format!("{}/{}", self.group, text(&self.version["name"])));
            object["kind"] = self.crd["spec"]["names"]["kind"].clone();
            let name = format!("a{}", stored.len());
            object["metadata"] = json!({ "name": name });
            let answer = api_server().request("POST", &self.url(), &object);
            match answer.status {
                201 => {
                    let path = format!("{}/{name}", self.url());
                    stored.push(api_server().request("GET", &path, &Value::Null).body);
                }
                400 | 422 => refused += 1,
                // The API server may not know the CRD on all paths yet.
                404 | 429 => thread::sleep(Duration::from_millis(50)),
                _ => return Err(format!("{object}\n{answer}")),
            }
        }
        Ok((stored, refused))
    }

    /// Whether the API server stores what Rust wrote as what Rust has read.
    fn is_same(&self, stored: &Value, mut written: Value) -> Result<(), String> {
        if let Some(error) = written.get("error") {
            return Err(format!("Rust cannot read it: {error}"));
        }
        // The types are of the group that the CRD had.
        written["apiVersion"] = stored["apiVersion"].clone();
        let path = format!("{}/{}", self.url(), text(&stored["metadata"]["name"]));
        let answer = api_server().request("PUT", &path, &written);
        if answer.status != 200 {
            return Err(format!("{answer}\n  written: {written}"));
        }
        let (given, own) = (self.schema(), self.own_schema());
        let same = |object: &Value| canonical(&without_noise(object), given, own);
        let (before, after) = (same(stored), same(&answer.body));
        match before == after {
            true => Ok(()),
            false => Err(format!(
                "it changed\n  written: {}",
                without_noise(&written)
            )),
        }
    }
}

/// The object without what the API server changes with every write. The generation counts changes, which may be of the
/// kinds that [`canonical`] knows.
fn without_noise(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("managedFields");
        metadata.remove("generation");
        metadata.remove("resourceVersion");
    }
    object
}
