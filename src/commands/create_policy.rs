//! `kbr create policy`: admission policies, each in a file of its own, with its test.
//!
//! This module checks the command against the project model. The files and lines that it needs are in
//! [`crate::scaffold`], and [`crate::manifests::policy`] checks what users write into them. Pure.

pub(crate) mod error;
#[cfg(test)]
mod tests;

use crate::cli::{PolicyArgs, TypeArgs};
use crate::commands::desired::{Desired, added};
use crate::commands::error::{Error, Result};
use crate::commands::target::{Target, known};
use crate::project::{PolicyType, Project, Resource};
use crate::scaffold;
use error::PolicyCommandError;

/// The project with the new policies, and the changes to its files.
///
/// `crd` is the text of the CRD file that was given for a type of another operator.
pub(crate) fn plan(mut project: Project, args: &PolicyArgs, crd: Option<&str>) -> Result<Desired> {
    let requested = PolicyType::typed(args.mutating, args.validating);
    if requested.is_empty() {
        return Err(PolicyCommandError::NothingWanted.into());
    }
    let target = Target::of(&project, &args.typed, &args.external, crd, args.force)?;
    let is_accepted = |meant: &Resource| {
        let typed = TypeArgs::of(meant);
        let args = PolicyArgs {
            typed,
            ..args.clone()
        };
        plan(project.clone(), &args, crd).is_ok()
    };
    let found = target.resource;
    let mut resource = known(&project, &args.typed, found, |_| true, is_accepted)?;
    let existing = requested
        .iter()
        .filter(|it| resource.policies.has(**it) && !args.force);
    Error::all(existing.map(|policy| PolicyCommandError::Exists {
        gvk: resource.gvk(),
        policy: *policy,
    }))?;
    for &policy in &requested {
        resource.policies.set(policy, true);
    }
    let before = scaffold::of(&project);
    project.upsert(resource.clone());
    let rewritten = if args.force {
        files(&project, &resource, &requested)
    } else {
        Vec::new()
    };
    let mut changes = added(&project, &before, &rewritten, args.force);
    if resource.core_type().is_some() {
        changes.push(scaffold::crdgen(&project));
    }
    changes.extend(target.changes);
    Ok(Desired::of(project, changes, target.warnings))
}

fn files(project: &Project, resource: &Resource, requested: &[PolicyType]) -> Vec<scaffold::Part> {
    let all = requested.iter();
    all.flat_map(|it| scaffold::policy_files(project, resource, *it))
        .collect()
}
