// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! The cost of CronJobs that exist and are not due: memory, a reconcile of one of them, and the time
//! until another replica has taken over.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use api::v1::CronJob;
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kbr_testing::TestEnv;
use kube::api::{ApiResource, DynamicObject, ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Api, CustomResourceExt, Resource, ResourceExt};
use serde_json::json;
use tokio::time::sleep;

use crate::Result;
use crate::cluster::{builder, start};
use crate::process::{Process, Subject, has_flag};
use crate::table::print;

/// How many requests at a time create the CronJobs.
const WRITERS: usize = 8;

/// How many CronJobs are touched, one after the other, to measure a reconcile.
const TOUCHED: u32 = 500;

/// How many CronJobs are edited to measure how soon a reconcile follows.
const EDITED: u32 = 101;

/// The metric of the objects that were parsed.
const DECODES: &str = "kbr_decoded_objects_total";

/// Nothing is left to do when no reconcile has ended for this long.
const QUIET: Duration = Duration::from_secs(2);

/// Between two checks.
const PAUSE: Duration = Duration::from_millis(20);

const PATIENCE: Duration = Duration::from_secs(600);

const LEASE: &str = "scale";

/// The flag for the name of the Lease. Without it, as in a scaffold of kubebuilder, there is no handover outside of
/// a cluster.
const LEASE_FLAG: &str = "leader-election-id";

/// MB are millions of bytes. `each` is for a reconcile of a CronJob whose annotations have changed, and so are the
/// `decodes` of objects in caches, which only operators of kbr count. `after` is the median time from the answer to
/// such a change to the end of the reconcile that follows.
const COLUMNS: [&str; 10] = [
    "settled s",
    "CPU s",
    "peak MB",
    "steady MB",
    "ms each",
    "CPU ms each",
    "decodes",
    "after ms",
    "SIGTERM s",
    "SIGKILL s",
];

/// Measures each binary with each number of CronJobs, beside so many that do not fit their type, and prints the
/// results.
pub async fn scale(numbers: &[u32], unreadable: u32, subjects: &[Subject]) -> Result<()> {
    let mut rows = Vec::new();
    for subject in subjects {
        for &number in numbers {
            let name = format!("{}, {number} CronJobs", subject.name);
            eprintln!("{name} with a Job each");
            rows.push((name, measure(subject, number, unreadable).await?));
        }
    }
    print(
        COLUMNS,
        rows.iter().map(|(name, (values, _))| (name, values)),
    );
    for (name, (_, watches)) in rows {
        println!("\nWatches opened by the first replica of {name}:");
        for (resource, number) in watches {
            println!("{number:>11}  {resource}");
        }
    }
    Ok(())
}

/// The figures of the columns, and the number of watches of each resource.
async fn measure(
    subject: &Subject,
    number: u32,
    unreadable: u32,
) -> Result<([f64; 10], BTreeMap<String, usize>)> {
    let env = start(builder().without_webhooks())?;
    let namespace = env.namespace().await;
    let leases = Api::namespaced(env.admin(), &namespace);
    let mut lease = Lease::default();
    lease.metadata.name = Some(LEASE.to_owned());
    leases.create(&PostParams::default(), &lease).await?;
    let cronjobs = Api::namespaced(env.admin(), &namespace);
    let jobs = Api::namespaced(env.admin(), &namespace);
    let made = stream::iter(0..number).map(|number| make(&cronjobs, &jobs, number));
    made.buffer_unordered(WRITERS).try_collect::<()>().await?;
    if unreadable > 0 {
        make_unreadable(&env, &namespace, unreadable).await?;
    }
    let has_hand_over = has_flag(&subject.binary, LEASE_FLAG)?;
    let replica = || Replica::start(subject, &env, has_hand_over.then_some(&*namespace));

    let mut first = replica()?;
    let settled = first.settled(number).await?;
    let start = first.process.usage()?;
    sleep(Duration::from_secs(5)).await;
    let steady = first.process.usage()?;

    let decodes = first.metric(DECODES)?;
    let before = (first.reconciles()?, steady.cpu);
    for number in 0..TOUCHED {
        let touch = Patch::Merge(json!({ "metadata": { "annotations": { "touched": "yes" } } }));
        let params = PatchParams::default();
        cronjobs.patch(&name(number), &params, &touch).await?;
    }
    first.quiet().await?;
    let after = (first.reconciles()?, first.process.usage()?.cpu);
    let (count, seconds) = (
        after.0.count - before.0.count,
        after.0.seconds - before.0.seconds,
    );
    let cpu = (after.1 - before.1).as_secs_f64();
    let decodes = match (decodes, first.metric(DECODES)?) {
        (Some(before), Some(after)) => (after - before) / count,
        _ => f64::NAN,
    };
    let mut waits = Vec::new();
    for number in 0..EDITED {
        waits.push(first.follows_edit(&cronjobs, &name(number)).await?);
    }
    waits.sort_unstable();
    let edit = waits[waits.len() / 2].as_secs_f64();
    let mut watches = BTreeMap::new();
    for request in env.requests() {
        if request.verb == "watch" {
            *watches.entry(request.resource).or_default() += 1;
        }
    }

    let (mut after_term, mut after_kill) = (f64::NAN, f64::NAN);
    if has_hand_over {
        let mut second = replica()?;
        second.stands_by().await?;
        first.process.terminate()?;
        after_term = second.leads().await?.as_secs_f64();
        drop(first);
        second.settled(number).await?;
        let mut third = replica()?;
        third.stands_by().await?;
        drop(second);
        after_kill = third.leads().await?.as_secs_f64();
    }

    let values = [
        settled.as_secs_f64(),
        start.cpu.as_secs_f64(),
        start.peak_megabytes,
        steady.megabytes,
        seconds / count * 1e3,
        cpu / count * 1e3,
        decodes,
        edit * 1e3,
        after_term,
        after_kill,
    ];
    Ok((values, watches))
}

fn name(number: u32) -> String {
    format!("cronjob-{number:05}")
}

/// Creates a suspended CronJob, and a Job that it owns.
async fn make(cronjobs: &Api<CronJob>, jobs: &Api<Job>, number: u32) -> Result<()> {
    let template = json!({ "spec": { "template": { "spec": {
        "restartPolicy": "OnFailure",
        "containers": [{
            "name": "hello",
            "image": "busybox:1.37",
            "args": ["/bin/sh", "-c", "date; echo Hello from the Kubernetes cluster"],
        }],
    } } } });
    let spec = serde_json::from_value(json!({
        "schedule": "*/5 * * * *",
        "suspend": true,
        "jobTemplate": template,
    }))?;
    let params = PostParams::default();
    let cronjob = cronjobs
        .create(&params, &CronJob::new(&name(number), spec))
        .await?;
    let mut job: Job = serde_json::from_value(template)?;
    job.metadata = ObjectMeta {
        name: Some(format!("{}-1", name(number))),
        owner_references: cronjob.controller_owner_ref(&()).map(|owner| vec![owner]),
        ..ObjectMeta::default()
    };
    jobs.create(&params, &job).await?;
    Ok(())
}

/// Creates CronJobs that do not fit their type, which the schema allows from then on.
async fn make_unreadable(env: &TestEnv, namespace: &str, number: u32) -> Result<()> {
    let crds: Api<CustomResourceDefinition> = Api::all(env.admin());
    let schema = json!([{
        "op": "replace",
        "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec",
        "value": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
    }]);
    let schema: Patch<()> = Patch::Json(serde_json::from_value(schema)?);
    let (crd, params) = (CronJob::crd(), PatchParams::default());
    crds.patch(&crd.name_any(), &params, &schema).await?;
    let resource = ApiResource::erase::<CronJob>(&());
    let cronjobs: Api<DynamicObject> = Api::namespaced_with(env.admin(), namespace, &resource);
    let make = async |number| {
        let object = DynamicObject::new(&format!("unreadable-{number:05}"), &resource);
        let object = object.data(json!({ "spec": { "schedule": number, "suspend": true } }));
        cronjobs.create(&PostParams::default(), &object).await
    };
    // The API server uses the new schema a moment later.
    let start = Instant::now();
    while let Err(error) = make(0).await {
        if start.elapsed() > PATIENCE {
            return Err(error.into());
        }
        sleep(PAUSE).await;
    }
    let made = stream::iter(1..number).map(make);
    made.buffer_unordered(WRITERS)
        .try_for_each(async |_| Ok(()))
        .await?;
    Ok(())
}

/// An operator that takes part in leader election, and whose metrics are read.
struct Replica {
    process: Process,
    port: u16,
}

/// The reconciles according to its metrics.
#[derive(Clone, Copy, PartialEq)]
struct Reconciles {
    count: f64,
    seconds: f64,
}

impl Replica {
    /// Starts a replica that takes part in leader election in `namespace`, if there is one.
    fn start(subject: &Subject, env: &TestEnv, namespace: Option<&str>) -> Result<Self> {
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?
            .local_addr()?
            .port();
        let mut flags = vec![
            format!("--metrics-bind-address=127.0.0.1:{port}"),
            "--metrics-secure=false".to_owned(),
        ];
        if let Some(namespace) = namespace {
            flags.extend([
                "--leader-elect".to_owned(),
                format!("--leader-election-id={LEASE}"),
                format!("--leader-election-namespace={namespace}"),
            ]);
        }
        let process = subject.start(env, &flags)?;
        Ok(Self { process, port })
    }

    /// Waits until everything is reconciled, and returns the time since its start.
    async fn settled(&mut self, number: u32) -> Result<Duration> {
        let started = self.process.started;
        self.until(|replica| Ok(replica.reconciles()?.count >= f64::from(number)))
            .await?;
        self.quiet().await?;
        Ok(started.elapsed().saturating_sub(QUIET))
    }

    /// The time from the answer to an edit of the CronJob to the end of the next reconcile.
    async fn follows_edit(&self, cronjobs: &Api<CronJob>, name: &str) -> Result<Duration> {
        let before = self.reconciles()?.count;
        let edit = json!({ "metadata": { "annotations": { "edited": before.to_string() } } });
        let params = PatchParams::default();
        cronjobs.patch(name, &params, &Patch::Merge(edit)).await?;
        let start = Instant::now();
        while self.reconciles()?.count <= before {
            if start.elapsed() > PATIENCE {
                return Err(self.process.error("did not reconcile an edited CronJob"));
            }
        }
        Ok(start.elapsed())
    }

    /// Waits until no reconcile has ended for a while.
    async fn quiet(&mut self) -> Result<()> {
        let mut last = (self.reconciles()?, Instant::now());
        self.until(|replica| {
            let now = replica.reconciles()?;
            if now != last.0 {
                last = (now, Instant::now());
            }
            Ok(last.1.elapsed() >= QUIET)
        })
        .await?;
        Ok(())
    }

    async fn stands_by(&mut self) -> Result<()> {
        self.until(|replica| Ok(replica.metric("leader_election_master_status")? == Some(0.0)))
            .await?;
        // It must have seen who leads.
        sleep(Duration::from_secs(3)).await;
        Ok(())
    }

    /// Waits until it leads, and returns how long that took.
    async fn leads(&mut self) -> Result<Duration> {
        self.until(|replica| Ok(replica.metric("leader_election_master_status")? == Some(1.0)))
            .await
    }

    async fn until(&mut self, mut is_so: impl FnMut(&Self) -> Result<bool>) -> Result<Duration> {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            if is_so(self)? {
                return Ok(start.elapsed());
            }
            self.process.check()?;
            sleep(PAUSE).await;
        }
        Err(self.process.error("made no progress"))
    }

    fn reconciles(&self) -> Result<Reconciles> {
        let metric = |name| Ok::<_, Box<dyn std::error::Error>>(self.metric(name)?.unwrap_or(0.0));
        Ok(Reconciles {
            count: metric("controller_runtime_reconcile_time_seconds_count")?,
            seconds: metric("controller_runtime_reconcile_time_seconds_sum")?,
        })
    }

    /// The sum of a metric; `None` before it is served.
    fn metric(&self, name: &str) -> Result<Option<f64>> {
        let Ok(mut stream) = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)) else {
            return Ok(None);
        };
        let request = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        stream.write_all(request.as_bytes())?;
        let mut response = String::new();
        stream.read_to_string(&mut response)?;
        let samples = response
            .lines()
            .filter(|line| line.split(['{', ' ']).next() == Some(name));
        let values = samples.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok());
        Ok(values.reduce(|sum, value| sum + value))
    }
}
