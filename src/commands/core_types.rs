//! Kubernetes' own kinds, in the help of commands that take one.

/// How to name a type of Kubernetes' own, as further ways behind one that is named already: one of these
/// kinds, or by these options.
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
