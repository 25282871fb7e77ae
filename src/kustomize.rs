//! The objects of `config/default`, which kubectl builds, for what is made from them: [`chart`] and [`bundle`].
//!
//! Names and the operator's namespace depend on who installs them, so kubectl builds a copy of `config/` with a [`mark`]
//! in place of the prefix, the suffix and the namespace: [`Root`] is its kustomization, and [`Build`] what kubectl prints.
//! Pure.
//!
//! [`chart`]: crate::chart
//! [`bundle`]: crate::bundle

mod build;
mod error;
mod manager;
pub(crate) mod mark;
mod pods;
mod root;
mod samples;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use build::{Build, OPTIONAL, Object};
pub(crate) use error::KustomizeError;
pub(crate) use manager::{container, manager, metrics};
pub(crate) use pods::{containers, items};
pub(crate) use root::Root;
pub(crate) use samples::{files, objects, samples};
