// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The proof that no conversion loses anything, by objects that nobody would think of.

use std::fs;
use std::path::{Path, PathBuf};

use kube::Config;
use proptest::prelude::*;
use proptest::test_runner::{TestError, TestRunner};
use serde_json::Value;
use tokio::runtime::Builder;

use super::values::{metadata, values};
use crate::webhook::conversion::{Conversions, Difference, Function, Kind};
use crate::{BindAddress, Flags, Manager};

/// Where `kbr manifests` writes schemas.
const CRDS: &str = "config/crd/bases";

/// Proves that objects of the project whose root is `project` come back as they were from each
/// version that they are converted to, whatever is in them.
///
/// The converters are those that `register` adds to a manager. For each of them, objects are made
/// that the schemas in `config/crd/bases` allow, 256 a direction, or as many as
/// `$PROPTEST_CASES` says. Each is converted and converted back. In its metadata, nothing but the
/// annotation of converted fields may differ in between.
///
/// # Panics
///
/// Shows the smallest object found that does not come back, or that the types of the project cannot
/// read though its schema allows it. So it does when there is no converter, or no schema of its
/// versions.
pub fn conversions_lose_nothing(project: impl AsRef<Path>, register: impl FnOnce(&mut Manager)) {
    if super::suite::Suite::current().is_some() {
        // No API server is asked, so there is nothing to refuse.
        return;
    }
    with_conversions(register, |conversions| {
        assert!(!conversions.is_empty(), "no converter is registered");
        let crds = Crds::read(project.as_ref());
        for (kind, versions) in conversions.kinds() {
            for (spoke, mapping) in &versions.spokes {
                let hub = Side {
                    version: &versions.hub,
                    leave: &mapping.to_spoke,
                };
                let spoke = Side {
                    version: spoke,
                    leave: &mapping.to_hub,
                };
                for (from, to) in [(&hub, &spoke), (&spoke, &hub)] {
                    let way = Way { kind, from, to };
                    way.prove(conversions, crds.schema(kind, from.version));
                }
            }
        }
    });
}

/// Calls `check` with what `register` adds to a manager of no cluster.
fn with_conversions(register: impl FnOnce(&mut Manager), check: impl FnOnce(&Conversions)) {
    // A client belongs to an async runtime, though this one never sends anything.
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.unwrap_or_else(|error| panic!("no async runtime: {error}"));
    let _guard = runtime.enter();
    let flags = Flags {
        health_probe_bind_address: BindAddress::Off,
        ..Flags::default()
    };
    let nowhere = Config::new("http://127.0.0.1:1".parse().unwrap_or_default());
    let manager = Manager::with_config(flags, nowhere);
    let mut manager = manager.unwrap_or_else(|error| panic!("no manager: {error}"));
    register(&mut manager);
    check(&manager.webhooks().conversions);
}

/// The CRDs of a project.
struct Crds {
    folder: PathBuf,
    documents: Vec<Value>,
}

impl Crds {
    fn read(project: &Path) -> Self {
        let folder = project.join(CRDS);
        let files = fs::read_dir(&folder)
            .unwrap_or_else(|error| panic!("`{}`: {error}; run `kbr manifests`", folder.display()));
        let mut documents = Vec::new();
        for file in files.flatten().map(|file| file.path()) {
            if file
                .extension()
                .is_some_and(|extension| extension == "yaml")
            {
                let text = fs::read_to_string(&file);
                let text = text.unwrap_or_else(|error| panic!("`{}`: {error}", file.display()));
                let read: Vec<Value> = serde_saphyr::from_multiple(&text)
                    .unwrap_or_else(|error| panic!("`{}`: {error}", file.display()));
                documents.extend(read);
            }
        }
        Self { folder, documents }
    }

    fn schema(&self, kind: &Kind, version: &str) -> &Value {
        let is_of_kind = |crd: &&Value| {
            let spec = &crd["spec"];
            spec["group"] == kind.group.as_str() && spec["names"]["kind"] == kind.kind.as_str()
        };
        let crds = self.documents.iter().filter(is_of_kind);
        let mut versions = crds
            .filter_map(|crd| crd["spec"]["versions"].as_array())
            .flatten();
        let Some(found) = versions.find(|found| found["name"] == version) else {
            panic!(
                "`{}` has no {} in version {version} of {}; run `kbr manifests`",
                self.folder.display(),
                kind.kind,
                kind.group
            );
        };
        &found["schema"]["openAPIV3Schema"]
    }
}

/// A version, and how objects leave it.
struct Side<'a> {
    version: &'a str,
    leave: &'a Function,
}

/// From a version to another and back.
struct Way<'a> {
    kind: &'a Kind,
    from: &'a Side<'a>,
    to: &'a Side<'a>,
}

impl Way<'_> {
    /// Tries it with objects of that schema.
    fn prove(&self, conversions: &Conversions, schema: &Value) {
        let config = ProptestConfig {
            failure_persistence: None,
            max_shrink_time: 10_000,
            ..ProptestConfig::default()
        };
        let api_version = self.api_version(self.from);
        let objects = (values(schema), metadata()).prop_map(|(mut object, metadata)| {
            object["apiVersion"] = api_version.as_str().into();
            object["kind"] = self.kind.kind.as_str().into();
            object["metadata"] = metadata;
            object
        });
        let outcome = TestRunner::new(config).run(&objects, |object| {
            let attempt = self.attempt(conversions, &object);
            attempt.map_err(TestCaseError::fail)
        });
        let way = format!(
            "{} of {} in version {}, converted to {} and back",
            self.kind.kind, self.kind.group, self.from.version, self.to.version
        );
        match outcome {
            Ok(()) => {}
            Err(TestError::Fail(reason, object)) => {
                let object = serde_json::to_string_pretty(&object).unwrap_or_default();
                panic!("{way}: {reason}\nthe smallest such object found:\n{object}");
            }
            Err(TestError::Abort(reason)) => panic!("{way}: no objects could be made: {reason}"),
        }
    }

    fn attempt(&self, conversions: &Conversions, object: &Value) -> Result<(), String> {
        let (from, to) = (self.api_version(self.from), self.api_version(self.to));
        let failed = |version: &str, error| format!("{version} could not be converted: {error}");
        (self.from.leave)(object).map_err(|error| failed(&from, error))?;
        let there = conversions.convert(object.clone(), &to)?;
        (self.to.leave)(&there).map_err(|error| failed(&to, error))?;
        if self.others(&there) != self.others(object) {
            return Err(format!("its metadata became {}", there["metadata"]));
        }
        let back = conversions.convert(there, &from)?;
        if back == *object {
            return Ok(());
        }
        let differences = Difference::between(&back, object);
        let mut lines: Vec<String> = differences.iter().map(ToString::to_string).collect();
        if back["metadata"] != object["metadata"] {
            lines.push(format!("/metadata came back as {}", back["metadata"]));
        }
        Err(format!(
            "it did not come back as it was\n{}",
            lines.join("\n")
        ))
    }

    /// The metadata without the annotation of converted fields.
    fn others(&self, object: &Value) -> Value {
        let mut metadata = object["metadata"].clone();
        if let Some(Value::Object(annotations)) = metadata.get_mut("annotations") {
            annotations.remove(&self.kind.annotation());
            if annotations.is_empty() {
                metadata["annotations"].take();
            }
        }
        if metadata["annotations"].is_null()
            && let Some(metadata) = metadata.as_object_mut()
        {
            metadata.remove("annotations");
        }
        metadata
    }

    fn api_version(&self, side: &Side) -> String {
        format!("{}/{}", self.kind.group, side.version)
    }
}
