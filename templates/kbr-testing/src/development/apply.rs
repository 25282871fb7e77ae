// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Applies what has changed in `config/`.

use kube::api::{DeleteParams, DynamicObject};
use kube::{Api, Client};
use serde_json::Value;
use tokio::time::sleep;

use crate::TestEnv;
use crate::install::{Manifests, apply, in_order, wait_until_served};

use super::objects::Stored;
use super::{Event, LEARNS};

/// The folder of the samples.
const SAMPLES: &str = "config/samples";

/// How often samples are tried, [`LEARNS`] apart: the API server needs a moment to serve new kinds, and the operator to
/// serve its webhooks.
const ATTEMPTS: usize = 20;

/// Kinds that are not deleted when they leave `config/default`, because objects would be deleted with them.
const KEPT: [&str; 2] = ["CustomResourceDefinition", "Namespace"];

impl TestEnv {
    /// Applies `config/default` where it differs from `old`, and returns it; `None` if it cannot be read, which is told.
    pub(super) async fn apply_config(&self, old: &Manifests) -> Option<Manifests> {
        let mut new = match Manifests::read(&self.project, &self.control_plane.assets) {
            Ok(new) => new,
            Err(error) => {
                refused("config/default", error.to_string());
                return None;
            }
        };
        if let Some(serving) = &self.installed().serving {
            new.call(serving);
        }
        let admin = self.admin();
        let mut refusals = Vec::new();
        for (resource, document) in in_order(&new.documents) {
            let before = old.documents.iter().find(|it| is_same(it, document));
            if before == Some(document) {
                continue;
            }
            let is_crd = resource.kind == "CustomResourceDefinition";
            let stored = match before {
                Some(before) if is_crd => Stored::of(&admin, before).await.ok().flatten(),
                _ => None,
            };
            let name = name(document);
            let object = format!("{} {name}", resource.kind);
            let applied = apply(&admin, &resource, name, document).await;
            let served = match applied {
                Ok(()) if is_crd => wait_until_served(&self.control_plane, &admin, name)
                    .await
                    .map_err(|error| error.to_string()),
                Ok(()) => Ok(()),
                Err(error) => Err(error.to_string()),
            };
            if let Err(reason) = served {
                refused(&object, reason);
                // It is tried again the next time.
                refusals.push(document.clone());
                continue;
            }
            let what = if before.is_some() {
                "changed"
            } else {
                "created"
            };
            Event::Applied { object, what }.tell();
            if let Some(stored) = stored {
                tokio::spawn(stored.tell_misfits(admin.clone()));
            }
        }
        delete(&admin, old, &new).await;
        new.documents.retain(|it| !refusals.contains(it));
        Some(new)
    }

    /// Applies the samples with kubectl.
    pub(super) async fn apply_samples(&self) {
        if !self
            .project
            .join(SAMPLES)
            .join("kustomization.yaml")
            .is_file()
        {
            return;
        }
        let mut reason = String::new();
        for _ in 0..ATTEMPTS {
            let mut kubectl = self.kubectl();
            kubectl.args(["apply", "--server-side", "--force-conflicts", "-k", SAMPLES]);
            let output = match kubectl.output() {
                Ok(output) => output,
                Err(error) => return refused("kubectl", error.to_string()),
            };
            if output.status.success() {
                for line in String::from_utf8_lossy(&output.stdout).lines() {
                    let object = line.split_whitespace().next().unwrap_or_default();
                    let object = object.to_owned();
                    let what = "applied";
                    Event::Applied { object, what }.tell();
                }
                return;
            }
            reason = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            if !is_passing(&reason) {
                break;
            }
            sleep(LEARNS).await;
        }
        refused(SAMPLES, reason);
    }
}

/// Deletes what `config/default` no longer has.
async fn delete(admin: &Client, old: &Manifests, new: &Manifests) {
    for (resource, document) in in_order(&old.documents) {
        if new.documents.iter().any(|it| is_same(it, document)) {
            continue;
        }
        let object = format!("{} {}", resource.kind, name(document));
        if KEPT.contains(&&*resource.kind) {
            let text = format!("{object} is no longer in config/default, and stays until you stop");
            Event::Note { text }.tell();
            continue;
        }
        let api: Api<DynamicObject> = match document["metadata"]["namespace"].as_str() {
            Some(namespace) => Api::namespaced_with(admin.clone(), namespace, &resource),
            None => Api::all_with(admin.clone(), &resource),
        };
        match api.delete(name(document), &DeleteParams::default()).await {
            Ok(_) => Event::Applied {
                object,
                what: "deleted",
            }
            .tell(),
            Err(error) => refused(&object, error.to_string()),
        }
    }
}

/// Whether kubectl failed because of something that passes by itself.
fn is_passing(reason: &str) -> bool {
    ["failed calling webhook", "no matches for kind", "not found"]
        .iter()
        .any(|text| reason.contains(text))
}

fn refused(object: &str, reason: String) {
    let object = object.to_owned();
    Event::Refused { object, reason }.tell();
}

/// Whether two documents are the same object.
fn is_same(one: &Value, other: &Value) -> bool {
    let key = |it: &Value| {
        let metadata = &it["metadata"];
        (
            it["kind"].clone(),
            metadata["namespace"].clone(),
            metadata["name"].clone(),
        )
    };
    key(one) == key(other)
}

fn name(document: &Value) -> &str {
    document["metadata"]["name"].as_str().unwrap_or_default()
}
