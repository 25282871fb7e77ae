// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! What a scenario can do, and how long it waits for the operator.

use std::collections::BTreeSet;
use std::fmt::{self, Debug};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use kube::api::{ApiResource, DeleteParams, ListParams, Patch, PatchParams};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::BoxError;
use super::change::candidates;
use super::differs::Differs;
use super::kinds::Kinds;
use super::proxy::Proxy;
use super::state::{Comparable, Objects, Written};
use crate::control_plane::PAUSE;
use crate::install::{FIELD_MANAGER, apply};

/// How long the operator must have sent nothing before the undisturbed run goes on.
const QUIET: Duration = Duration::from_secs(1);

/// The same for a run whose objects are already those of the undisturbed run.
const QUIET_ENOUGH: Duration = Duration::from_millis(300);

/// How long the operator may do nothing before it tries again.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// How long the operator may need: far longer than after any single fault.
const PATIENCE: Duration = Duration::from_secs(30);

/// The operator reconciles everything again once the scenario has settled, once for each of these, and must not write.
///
/// The first time, resource versions are not compared: the API server raises that of a PersistentVolumeClaim when it is
/// applied for the second time, although nothing in it changes.
const AGAIN: [Written; 2] = [Written::Contents, Written::Version];

/// How often the undisturbed run may turn out not to have settled yet, because the machine is slow.
const ATTEMPTS: usize = 4;

/// One run of a scenario, in a namespace of its own, with an operator that sees no other. Clones are the same run.
#[derive(Clone)]
pub struct Stage(pub(super) Arc<Run>);

pub(super) struct Run {
    pub(super) admin: Client,
    pub(super) project: PathBuf,
    pub(super) namespace: String,
    /// The objects that existed before, if the run has the whole cluster for itself; `None` for a run in its namespace.
    pub(super) before: Option<BTreeSet<String>>,
    pub(super) kinds: Arc<Kinds>,
    pub(super) differs: Vec<Arc<Differs>>,
    pub(super) proxy: Proxy,
    /// The objects each time that the undisturbed run has settled; `None` in that run.
    pub(super) expected: Option<Arc<Vec<Comparable>>>,
    /// The objects each time that this run has settled.
    pub(super) settled: Mutex<Vec<Comparable>>,
}

impl Stage {
    /// A client with full permissions.
    #[must_use]
    pub fn admin(&self) -> Client {
        self.0.admin.clone()
    }

    /// The namespace of this run.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.0.namespace
    }

    /// Creates the objects of a YAML file in the namespace of this run, or changes them to match it. `path` is relative
    /// to the folder of the project.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, and when the API server refuses an object.
    pub async fn apply(&self, path: impl AsRef<Path>) -> Result<(), BoxError> {
        for (resource, name, document) in self.read(path.as_ref())? {
            apply(&self.0.admin, &resource, &name, &document).await?;
        }
        self.0.proxy.tap.disturb();
        Ok(())
    }

    /// Changes the objects of a YAML file in a way that the API server accepts: for each of them, the first number or
    /// boolean in its `spec`, or else text, for which there is one. Returns what has been changed; empty if nothing can be.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, and when the API server refuses an object.
    pub async fn change(&self, path: impl AsRef<Path>) -> Result<Vec<String>, BoxError> {
        let mut changes = Vec::new();
        for (resource, name, document) in self.read(path.as_ref())? {
            let namespace = document["metadata"]["namespace"].as_str();
            let run = &self.0;
            let api = run.kinds.api(&run.admin, &resource, namespace);
            let attempt = PatchParams::apply(FIELD_MANAGER).force().dry_run();
            for (what, changed) in candidates(&document) {
                match api.patch(&name, &attempt, &Patch::Apply(&changed)).await {
                    Ok(_) => {
                        apply(&run.admin, &resource, &name, &changed).await?;
                        changes.push(format!("{what} of {} {name}", resource.kind));
                        break;
                    }
                    Err(kube::Error::Api(_)) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        self.0.proxy.tap.disturb();
        Ok(changes)
    }

    /// Deletes the objects of a YAML file, the last one first.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, and when the API server refuses to delete an object.
    pub async fn delete(&self, path: impl AsRef<Path>) -> Result<(), BoxError> {
        let run = &self.0;
        for (resource, name, _) in self.read(path.as_ref())?.into_iter().rev() {
            let api = run.kinds.api(&run.admin, &resource, Some(&run.namespace));
            api.delete(&name, &DeleteParams::default()).await?;
        }
        self.0.proxy.tap.disturb();
        Ok(())
    }

    /// Whether this is the run without a fault.
    pub(super) fn is_undisturbed(&self) -> bool {
        self.0.expected.is_none()
    }

    /// Whether the project has that file.
    pub(super) fn has(&self, path: &Path) -> bool {
        self.0.project.join(path).is_file()
    }

    /// The documents of a file, with their kind and name, in the namespace of this run.
    fn read(&self, path: &Path) -> Result<Vec<(ApiResource, String, Value)>, BoxError> {
        let path = self.0.project.join(path);
        let text = std::fs::read_to_string(&path);
        let text = text.map_err(|error| format!("{}: {error}", path.display()))?;
        let documents = serde_saphyr::from_multiple::<Value>(&text);
        let documents = documents.map_err(|error| format!("{}: {error}", path.display()))?;
        let documents = documents.into_iter().map(|mut document| {
            let (resource, is_namespaced) = self.0.kinds.of(&document).ok_or_else(|| {
                let (version, kind) = (&document["apiVersion"], &document["kind"]);
                format!(
                    "{}: the API server has no kind {kind} of {version}",
                    path.display()
                )
            })?;
            if is_namespaced {
                document["metadata"]["namespace"] = json!(self.0.namespace);
            }
            let name = document["metadata"]["name"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            Ok((resource, name, document))
        });
        documents.collect()
    }

    /// Waits until the operator has done all that there is to do. In a run with a fault, the objects must then be those
    /// of the undisturbed run, and the operator must write nothing when it reconciles everything again.
    ///
    /// # Errors
    ///
    /// Says what is not as in the undisturbed run. Return this error from the scenario.
    pub async fn settle(&self) -> Result<(), BoxError> {
        let run = &self.0;
        // What has just been done may not have reached the operator yet.
        run.proxy.tap.disturb();
        let number = run
            .settled
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .len();
        let settled = match run.expected.as_ref().map(|expected| expected.get(number)) {
            None => run.settle_undisturbed().await?,
            Some(Some(expected)) => run.settle_as(expected).await?,
            Some(None) => return Err("the undisturbed run has not settled as often".into()),
        };
        let mut all = run.settled.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(settled);
        Ok(())
    }

    /// Like [`Stage::settle`], after everything was deleted: nothing may be left of what the operator may write.
    ///
    /// # Errors
    ///
    /// Those of [`Stage::settle`], and what is left.
    pub async fn settle_empty(&self) -> Result<(), BoxError> {
        self.settle().await?;
        let all = self
            .0
            .settled
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let left = all.last().filter(|left| !left.is_empty());
        match left {
            None => Ok(()),
            Some(left) => {
                let left = left.differences_from(&Comparable::default());
                Err(format!("after everything was deleted, this is left:\n{left}").into())
            }
        }
    }
}

impl Run {
    async fn settle_undisturbed(&self) -> Result<Comparable, BoxError> {
        let mut again = Ok(());
        for _ in 0..ATTEMPTS {
            self.wait_until_quiet(QUIET).await?;
            again = self.reconcile_again().await;
            if again.is_ok() {
                break;
            }
        }
        again?;
        Ok(self
            .objects()
            .await?
            .comparable(&self.namespace, &self.differs))
    }

    async fn settle_as(&self, expected: &Comparable) -> Result<Comparable, BoxError> {
        let start = Instant::now();
        let found = loop {
            let quiet = self.proxy.tap.quiet_for();
            if quiet >= QUIET_ENOUGH {
                let found = self
                    .objects()
                    .await?
                    .comparable(&self.namespace, &self.differs);
                if found == *expected {
                    break found;
                }
                if quiet > LONGEST_PAUSE || start.elapsed() > PATIENCE {
                    let differences = found.differences_from(expected);
                    return Err(format!(
                        "what is different from the undisturbed run:\n{differences}"
                    )
                    .into());
                }
            } else if start.elapsed() > PATIENCE * 2 {
                return Err(self.is_not_quiet());
            }
            sleep(PAUSE).await;
        };
        // Before the fault, this is an undisturbed run.
        if self.proxy.tap.lock().is_hit {
            self.reconcile_again().await?;
        }
        Ok(found)
    }

    /// Starts the operator again, which makes it reconcile everything, and checks that nothing changes.
    async fn reconcile_again(&self) -> Result<(), BoxError> {
        self.proxy.tap.lock().is_again = true;
        let outcome = self.changes_nothing_again().await;
        self.proxy.tap.lock().is_again = false;
        outcome
    }

    async fn changes_nothing_again(&self) -> Result<(), BoxError> {
        for written in AGAIN {
            let before = self.objects().await?;
            self.proxy.tap.lives.kill();
            self.proxy.tap.begin_life()?;
            self.wait_until_quiet(QUIET_ENOUGH).await?;
            let changed = self.objects().await?.written_since(&before, written);
            if !changed.is_empty() {
                return Err(format!(
                    "when everything is as it should be and the operator reconciles it again, it still writes: {}",
                    Vec::from_iter(changed).join(", ")
                )
                .into());
            }
        }
        Ok(())
    }

    async fn wait_until_quiet(&self, quiet: Duration) -> Result<(), BoxError> {
        let start = Instant::now();
        while self.proxy.tap.quiet_for() < quiet {
            if start.elapsed() > PATIENCE * 2 {
                return Err(self.is_not_quiet());
            }
            sleep(PAUSE).await;
        }
        Ok(())
    }

    fn is_not_quiet(&self) -> BoxError {
        format!(
            "the operator has not become quiet within {:?}",
            PATIENCE * 2
        )
        .into()
    }

    /// Starts another process whenever one has ended.
    pub(super) async fn supervise(&self) -> BoxError {
        loop {
            if self.proxy.tap.lives.is_over()
                && let Err(error) = self.proxy.tap.begin_life()
            {
                return error.into();
            }
            sleep(PAUSE).await;
        }
    }

    /// All objects of this run that the operator may write.
    async fn objects(&self) -> Result<Objects, BoxError> {
        let mut all = Vec::new();
        let namespace = self.before.is_none().then_some(self.namespace.as_str());
        let before = |uid: Option<&String>| {
            let before = self.before.as_ref().zip(uid);
            before.is_some_and(|(before, uid)| before.contains(uid))
        };
        for resource in self.kinds.written() {
            let api = self.kinds.api(&self.admin, resource, namespace);
            for object in api.list(&ListParams::default()).await? {
                if before(object.metadata.uid.as_ref()) {
                    continue;
                }
                let mut object = serde_json::to_value(object)?;
                // Lists leave these out.
                object["apiVersion"] = json!(resource.api_version);
                object["kind"] = json!(resource.kind);
                all.push(object);
            }
        }
        let listed = self.kinds.written().map(|resource| resource.kind.clone());
        Ok(Objects::new(all, &listed.collect()))
    }

    /// The UIDs of all objects that the operator may write.
    ///
    /// # Errors
    ///
    /// When the API server does not list them.
    pub(super) async fn uids(&self) -> Result<BTreeSet<String>, BoxError> {
        Ok(self.objects().await?.uids())
    }

    /// Deletes what is left of a run that had the whole cluster for itself, even if a finalizer forbids it.
    ///
    /// # Errors
    ///
    /// When the API server refuses that.
    pub(super) async fn clean_up(&self) -> Result<(), BoxError> {
        let Some(before) = &self.before else {
            return Ok(());
        };
        let force = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
        for resource in self.kinds.written() {
            let all = self.kinds.api(&self.admin, resource, None);
            for object in all.list(&ListParams::default()).await? {
                let (namespace, name) = (object.namespace(), object.name_any());
                if before.contains(&object.uid().unwrap_or_default()) {
                    continue;
                }
                let api = self.kinds.api(&self.admin, resource, namespace.as_deref());
                let deleted = api.delete(&name, &DeleteParams::default()).await;
                let freed = match object.finalizers() {
                    [] => Ok(()),
                    _ => api
                        .patch(&name, &PatchParams::default(), &force)
                        .await
                        .map(drop),
                };
                for outcome in [deleted.map(drop), freed] {
                    match outcome {
                        Err(kube::Error::Api(status)) if status.is_not_found() => {}
                        outcome => outcome?,
                    }
                }
            }
        }
        Ok(())
    }
}

impl Debug for Stage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = formatter.debug_struct("Stage");
        debug
            .field("namespace", &self.0.namespace)
            .finish_non_exhaustive()
    }
}
