// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Proves that the manager's roles grant what it needs, and nothing else.
//!
//! Each permission is removed once, in a run of all tests of another test target. Either the audit
//! log then shows that the API server refused a request because the permission was missing, or
//! nothing needed it.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::TestEnvError;
use super::assets::Assets;
use super::error::LogEnd;
use super::grants::Grant;
use super::install::Manifests;
use super::roles::Role;
use super::server::report;
use super::suite::{End, Run, Suite};
use super::test_target;

/// The variable that selects permissions.
const ONLY: &str = "KBR_RBAC_ONLY";

/// How many run at once, given as many processors: each has its own servers in memory.
const RUNS: usize = 4;

/// Proves that the project whose root is `project` grants its manager what it needs and no more, as
/// far as the tests in its test target `suite` show.
///
/// Cargo builds them, with default features. They run once for each combination of group, resource
/// and verb that the roles in `config/default` grant the manager, without that permission, until
/// the API server refuses a request that needs it. Each permission is printed to standard error,
/// with the message of the refusal. A few of these runs happen at once: the tests may share nothing
/// but their environment.
///
/// If the variable `KBR_RBAC_ONLY` is set, only the permissions are tried whose marker, as it is
/// printed, contains its value, such as `resources=secrets`.
///
/// The test that calls this needs its own test target. It takes long with many rules:
/// `test = false` in its `[[test]]` keeps it out of a plain `cargo test`.
///
/// # Panics
///
/// Lists what is not proved: permissions without which the tests pass, permissions without which
/// they fail although nothing is refused, and wildcards. Also panics with any [`TestEnvError`] that
/// kept a run from starting.
pub fn least_privilege(project: impl AsRef<Path>, suite: &str) {
    if Suite::current().is_some() {
        // This run would start others, which would start others, endlessly.
        report(&"the proof is one of the tests that it runs: give it a test target of its own");
        std::process::exit(1);
    }
    let faults = faults(project.as_ref(), suite);
    let faults = faults.unwrap_or_else(|error| panic!("{error}"));
    assert!(
        faults.is_empty(),
        "it is not proved that the manager's roles grant no more than it needs:\n\n{}\n",
        faults.join("\n\n")
    );
}

/// What is not proved, and what to do.
fn faults(project: &Path, suite: &str) -> Result<Vec<String>, TestEnvError> {
    let manifests = Manifests::read(project, &Assets::find()?)?;
    let only = env::var(ONLY).unwrap_or_default();
    // In an environment, the webhooks have certificates that the manager did not make.
    let makes_certificates = manifests.own_certificates().is_some();
    let grants = manifests.grants().into_iter();
    let grants = grants.filter(|(role, _)| !(makes_certificates && role.is_for_certificates()));
    let (wildcards, grants): (Vec<_>, Vec<_>) = grants
        .filter(|(_, grant)| grant.to_string().contains(&only))
        .partition(|(_, grant)| grant.is_wildcard());
    if !only.is_empty() && wildcards.is_empty() && grants.is_empty() {
        return Ok(vec![format!(
            "no permission of the manager contains `{only}`, which {ONLY} asks for: \
             set it to a part of a marker, such as `resources=pods`"
        )]);
    }
    let tests = test_target::build(project, suite)?;
    let roles = manifests.roles().into_iter();
    let unknown = roles.filter(|role| !manifests.has(role));
    let mut faults: Vec<String> = unknown.map(|role| unknown_role(&role)).collect();
    let mut failed = Vec::new();
    let (all, done) = (grants.len(), Mutex::new(0_usize));
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let verdicts = in_parallel(grants, processors.min(RUNS), |(role, grant)| {
        let verdict = judge(&tests, &role, &grant);
        verdict.inspect(|verdict| {
            let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
            *done += 1;
            show(&format!("[{done}/{all}] {grant}"), verdict);
        })
    });
    for verdict in verdicts {
        match verdict? {
            Verdict::Needed(_) => {}
            Verdict::Fault(fault) => faults.push(fault),
            Verdict::Failed(fault) => failed.push(fault),
        }
    }
    if failed.is_empty() && wildcards.is_empty() {
        return Ok(faults);
    }
    let (used, broken) = with_all_roles(&tests)?;
    match broken {
        // If the tests fail with all permissions, the roles are not to blame.
        Some(broken) if !failed.is_empty() => faults.push(broken),
        _ => faults.append(&mut failed),
    }
    let wildcards = wildcards.iter();
    faults.extend(wildcards.map(|(role, grant)| wildcard(role, grant, &used)));
    Ok(faults)
}

/// Prints a line at once: a test runner shows what `eprintln` writes at the end, if at all.
fn show(grant: &str, verdict: &Verdict) {
    let outcome = match verdict {
        Verdict::Needed(refusal) => refusal,
        Verdict::Fault(_) => "the tests pass without it",
        Verdict::Failed(_) => {
            "the tests fail without it, but no request was refused for lack of it"
        }
    };
    let _ = writeln!(io::stderr(), "{grant}: {outcome}");
}

fn unknown_role(role: &Role) -> String {
    format!(
        "{role}\nis bound to the manager, but is not defined in `config/default`: \
         bind a role of the project that grants what the manager needs from it"
    )
}

fn wildcard(role: &Role, grant: &Grant, used: &BTreeSet<Grant>) -> String {
    let used = used.iter().filter(|used| grant.covers(used));
    let used: String = used.map(|used| format!("\n  {used}")).collect();
    let advice = match used.is_empty() {
        true => "remove it, since they use none of its permissions".to_owned(),
        false => format!("write what they use instead:{used}"),
    };
    format!("{grant}\n{role} grants more with it than the tests can prove to be needed: {advice}")
}

enum Verdict {
    /// The API server's message when it refused a request.
    Needed(String),
    /// What is wrong, and what to do.
    Fault(String),
    /// The same, if the tests failed for another reason.
    Failed(String),
}

/// Runs the tests without one permission of a role.
fn judge(tests: &Path, role: &Role, grant: &Grant) -> Result<Verdict, TestEnvError> {
    let mut run = Run::start(tests, Some((role.clone(), grant.clone())))?;
    let mut refusal = None;
    let end = run.watch(|request| {
        let is_missed = grant.is_missed_by(request) || grant.is_missed_by_admission_of(request);
        refusal = is_missed.then(|| request.message.clone());
        is_missed
    })?;
    Ok(match (refusal, end) {
        (Some(refusal), _) => {
            run.forget();
            Verdict::Needed(refusal)
        }
        (None, End::Failed(end)) => Verdict::Failed(format!(
            "{grant}\n{role} grants it, and without it the tests fail, but the API server refused \
             no request for lack of it: {}",
            failure(&run, &end)
        )),
        (None, _) => {
            run.forget();
            Verdict::Fault(format!(
                "{grant}\n{role} grants it, but without it the tests pass: \
                 remove it from its marker and run `kbr manifests`, or test what needs it"
            ))
        }
    })
}

/// The permissions that all tests together use with none removed, and what is wrong if they fail.
fn with_all_roles(tests: &Path) -> Result<(BTreeSet<Grant>, Option<String>), TestEnvError> {
    let mut run = Run::start(tests, None)?;
    let mut used = BTreeSet::new();
    let end = run.watch(|request| {
        used.extend(Grant::for_request(request).filter(|_| request.code != 403));
        false
    })?;
    let End::Failed(end) = end else {
        run.forget();
        return Ok((used, None));
    };
    let broken = format!(
        "the tests also fail with all permissions, so nothing is proved: {}",
        failure(&run, &end)
    );
    Ok((used, Some(broken)))
}

/// How a run failed, and where to look.
fn failure(run: &Run, end: &str) -> String {
    let output = run.output();
    format!(
        "the run {end}; its output, {}, ends with\n{}",
        output.display(),
        LogEnd::of(&output)
    )
}

/// Processes each item, as many at once as there are `threads`, and keeps their order.
pub(super) fn in_parallel<T: Send, R: Send>(
    items: Vec<T>,
    threads: usize,
    work: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let queue = Mutex::new(items.into_iter().enumerate());
    let results = Mutex::new(BTreeMap::new());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((number, item)) = next() {
                    let result = work(item);
                    let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
                    results.insert(number, result);
                }
            });
        }
    });
    let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.into_values().collect()
}
