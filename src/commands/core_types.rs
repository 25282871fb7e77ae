//! Kubernetes' own kinds, in the help of commands that accept them.

/// How to specify a type of Kubernetes instead: one of these kinds, or these options.
pub fn kubernetes_own(kinds: &[&str], options: Option<&str>) -> String {
    let mut ways = String::new();
    if !kinds.is_empty() {
        let kinds = kinds.join(", ");
        ways += &format!(", or name one of Kubernetes' own after `--kind`: {kinds}");
    }
    if let Some(options) = options {
        ways += &format!(", or type `{options}` for Kubernetes' own");
    }
    ways
}
