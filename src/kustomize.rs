//! The objects of `config/default`, evaluated as kustomize does, for what is made from them: [`chart`] and [`bundle`].
//!
//! [`Build`] has the objects with a [`mark`] in place of each name, and of the operator's namespace, because both
//! depend on who installs them. Pure.
//!
//! [`chart`]: crate::chart
//! [`bundle`]: crate::bundle

mod build;
mod config_map;
mod error;
mod json_patch;
pub mod mark;
mod references;
mod replacement;
mod samples;

pub use build::{Build, OPTIONAL, Object, documents};
pub use error::KustomizeError;
pub use replacement::{CONTAINERS, items, split_image};
pub use samples::{lenient, samples};
