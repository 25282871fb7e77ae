//! What exists already, as something that kbr can go on with: types from CRDs that somebody else wrote, and the
//! projects of kubebuilder and operator-sdk, in Go.
//!
//! [`documents`] finds the CRDs in files, and refuses those that no API server would accept. Pure: text in,
//! documents out.

pub(crate) mod documents;
pub(crate) mod external;
pub(crate) mod go;
pub(crate) mod hints;
pub(crate) mod types;
