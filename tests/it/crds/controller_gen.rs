//! Our CRDs beside those of controller-gen 0.21, node by node.
