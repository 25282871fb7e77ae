//! Types of cert-manager, as far as this operator reads them. `crds.yaml` has the CRDs.

pub mod v1;
