//! The objects of `config/default`, evaluated as kustomize does, for what is made from them: [`chart`] and [`bundle`].
//!
//! [`Build`] has the objects with a [`mark`] in place of each name, and of the operator's namespace, because both
//! depend on who installs them. Pure.
//!
//! [`chart`]: crate::chart
//! [`bundle`]: crate::bundle

mod build;
mod config_map;
mod entries;
mod error;
mod json_patch;
mod manager;
pub mod mark;
mod references;
mod replacement;
mod samples;
#[cfg(test)]
mod tests;

pub use build::{Build, OPTIONAL, Object};
pub use error::KustomizeError;
pub use manager::{container, manager, metrics};
pub use replacement::{containers, items, split_image};
pub use samples::{objects, samples};
