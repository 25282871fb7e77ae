// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! The cost of objects whose operator runs an image for each, with a Deployment and perhaps a Service.
//!
//! Each binary gets its own API server. All objects exist when it starts, and no pod ever runs. If an
//! operator creates no Service at all, Services are not waited for.

use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::serde::de::DeserializeOwned;
use kbr_testing::TestEnv;
use kube::api::{DynamicObject, ListParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, Resource, discovery};

use tokio::time::sleep;

use crate::Result;
use crate::cluster::{Answers, answers, builder_of, since, start};
use crate::process::{Process, Usage};
use crate::table::{print, print_answers};

/// Addresses for 65,000 Services; the default range has 254.
const ADDRESSES: &str = "--service-cluster-ip-range=10.0.0.0/16";

/// How long a binary with nothing left to do has to settle.
const SETTLE: Duration = Duration::from_secs(5);

/// Between two counts of the children.
const PAUSE: Duration = Duration::from_millis(100);

/// MB are millions of bytes.
const COLUMNS: [&str; 7] = [
    "first s",
    "all s",
    "Deployment",
    "Service",
    "CPU s",
    "end MB",
    "peak MB",
];

/// Measures each binary with `count` objects like the one in a file, and prints the results.
pub async fn compare(
    project: &Path,
    object: &Path,
    count: u32,
    binaries: &[PathBuf],
) -> Result<()> {
    fs::metadata(object).map_err(|error| format!("{}: {error}", object.display()))?;
    let object: DynamicObject = kbr_testing::read(object);
    let mut rows = Vec::new();
    for (binary, name) in binaries.iter().map(|binary| (binary, binary.display())) {
        eprintln!("{name}: with {count} objects");
        let run = measure(project, &object, count, binary).await?;
        let values = [
            run.first.as_secs_f64(),
            run.all.as_secs_f64(),
            f64::from(run.deployments),
            f64::from(run.services),
            run.end.cpu.as_secs_f64(),
            run.end.megabytes,
            run.end.peak_megabytes,
        ];
        rows.push((name, values, run.answers));
    }
    print(COLUMNS, rows.iter().map(|(name, values, _)| (name, values)));
    for (name, _, answers) in rows {
        print_answers(&format!("each object of {name}"), &answers, count);
    }
    Ok(())
}

/// The cost until each object had its children.
struct Run {
    first: Duration,
    all: Duration,
    deployments: u32,
    services: u32,
    /// A while later, when statuses are written too.
    end: Usage,
    answers: Answers,
}

async fn measure(project: &Path, object: &DynamicObject, count: u32, binary: &Path) -> Result<Run> {
    let builder = builder_of(project).without_webhooks();
    let env = start(builder.api_server_args(&[ADDRESSES]))?;
    let namespace = env.namespace().await;
    let plural = create(&env, &namespace, object, count).await?;
    let resources = [&plural, "deployments", "events", "services"];
    let before = answers(&env, &resources)?;
    let mut process = Process::start(binary, &env)?;

    let (mut first, mut deployments, mut services) = (None, 0, 0);
    let patience = Duration::from_secs(60) + count * Duration::from_millis(300);
    while deployments < count || (services > 0 && services < count) {
        sleep(PAUSE).await;
        process.check()?;
        deployments = number::<Deployment>(&env, &namespace).await?;
        services = number::<Service>(&env, &namespace).await?;
        if deployments > 0 {
            first.get_or_insert(process.started.elapsed());
        }
        if process.started.elapsed() > patience {
            let seconds = patience.as_secs();
            let what = format!(
                "did not finish within {seconds} s: {deployments} Deployments, {services} Services"
            );
            return Err(process.error(&what));
        }
    }
    let all = process.started.elapsed();
    sleep(SETTLE).await;
    Ok(Run {
        first: first.unwrap_or(all),
        all,
        deployments,
        services,
        end: process.usage()?,
        answers: since(&before, answers(&env, &resources)?),
    })
}

/// Creates `count` objects like `object`, and returns the plural of their kind.
async fn create(
    env: &TestEnv,
    namespace: &str,
    object: &DynamicObject,
    count: u32,
) -> Result<String> {
    let types = object.types.as_ref().ok_or("the object has no kind")?;
    let kind = GroupVersionKind::try_from(types)?;
    let (resource, _) = discovery::pinned_kind(&env.admin(), &kind).await?;
    let api: Api<DynamicObject> = Api::namespaced_with(env.admin(), namespace, &resource);
    for number in 0..count {
        let mut object = object.clone();
        object.metadata.name = Some(format!("object-{number:04}"));
        object.metadata.namespace = None;
        api.create(&PostParams::default(), &object).await?;
    }
    Ok(resource.plural)
}

/// The number of objects of a kind in the namespace.
async fn number<K>(env: &TestEnv, namespace: &str) -> Result<u32>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + Debug
        + DeserializeOwned,
{
    let api: Api<K> = Api::namespaced(env.admin(), namespace);
    let list = api.list_metadata(&ListParams::default().limit(1)).await?;
    let more = list.metadata.remaining_item_count.unwrap_or(0);
    Ok(u32::try_from(list.items.len())? + u32::try_from(more)?)
}
