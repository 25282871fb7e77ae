//! The rule of each name, and what a refusal says.
//!
//! A rule looks at the text alone. Where it comes from somebody else (Kubernetes, DNS, cargo), it
//! says so.

use super::dns::{LABEL_MAX, SUBDOMAIN_MAX, is_label, is_subdomain};
use super::{NameError, reserved};

/// Longest kind: with `List` behind it, it is still a label (`ValidateCustomResourceDefinitionNames`
/// in apiextensions-apiserver).
const KIND_MAX: usize = LABEL_MAX - "List".len();

/// Longest name of a webhook, a DNS subdomain.
pub const WEBHOOK_NAME_MAX: usize = SUBDOMAIN_MAX;

/// Where the operator serves conversions of all kinds.
const CONVERT: &str = "/convert";

/// Longest name of a CRD: a DNS subdomain, and with `.yaml` behind it the name of a file, which
/// most file systems bound at 255 bytes.
pub const CRD_NAME_MAX: usize = 250;

/// Longest name that kustomize makes of the project's: a Service, whose name is a DNS label.
const LONGEST_OBJECT_SUFFIX: &str = "-controller-manager-metrics-service";

/// DNS-1035 label: a DNS-1123 label that begins with a letter.
fn is_dns1035_label(text: &str) -> bool {
    is_label(text) && text.starts_with(|c: char| c.is_ascii_lowercase())
}

/// DNS-1123 subdomain whose words are labels, as they must be where it becomes a host's name.
fn is_domain(text: &str) -> bool {
    is_subdomain(text) && text.split('.').all(is_label)
}

pub(super) fn project_name(text: &str) -> Result<(), NameError> {
    let longest = LABEL_MAX - LONGEST_OBJECT_SUFFIX.len();
    if !is_label(text) {
        return Err(NameError::new(
            format!("`{text}` is no project name: it must be a DNS-1123 label"),
            "type lower-case letters, digits and `-` after `--project-name`, such as `my-operator`",
        ));
    }
    if text.len() > longest {
        return Err(NameError::new(
            format!(
                "`{text}` is too long a project name: with `{LONGEST_OBJECT_SUFFIX}` behind it, \
                 it must fit the {LABEL_MAX} characters of a Service name"
            ),
            format!("type at most {longest} characters after `--project-name`"),
        ));
    }
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(NameError::new(
            format!(
                "`{text}` is no project name: cargo refuses a package that begins with a digit"
            ),
            "type a name that begins with a letter after `--project-name`",
        ));
    }
    if let Some(why) = reserved::project_name(text) {
        return Err(NameError::new(
            format!("`{text}` cannot be the project's name: {why}"),
            format!("type another name after `--project-name`, such as `{text}-operator`"),
        ));
    }
    Ok(())
}

pub(super) fn lease_name(text: &str) -> Result<(), NameError> {
    if is_subdomain(text) {
        return Ok(());
    }
    Err(NameError::new(
        format!("`{text}` is no name of a Lease: it must be a DNS-1123 subdomain"),
        "type lower-case letters, digits, `-` and `.`, such as `my-operator-leader-election`",
    ))
}

pub(super) fn domain(text: &str) -> Result<(), NameError> {
    if is_domain(text) {
        return Ok(());
    }
    Err(NameError::new(
        format!("`{text}` is no domain: it must be a DNS-1123 subdomain"),
        "type lower-case letters, digits, `-` and `.`, such as `example.com`",
    ))
}

pub(super) fn group(text: &str) -> Result<(), NameError> {
    if is_domain(text) {
        return Ok(());
    }
    Err(NameError::new(
        format!("`{text}` is no API group: it must be a DNS-1123 subdomain"),
        "type lower-case letters, digits, `-` and `.`, such as `batch`, \
         or leave `--group` out to use the domain itself",
    ))
}

pub(super) fn version(text: &str) -> Result<(), NameError> {
    let number = |digits: &str| {
        (1..=9).contains(&digits.len())
            && digits.bytes().all(|b| b.is_ascii_digit())
            && !digits.starts_with('0')
    };
    let valid = text.strip_prefix('v').is_some_and(|rest| {
        let (major, level) = match rest.find(['a', 'b']) {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        let level_is_valid = level.is_empty()
            || level.strip_prefix("alpha").is_some_and(number)
            || level.strip_prefix("beta").is_some_and(number);
        number(major) && level_is_valid
    });
    if valid {
        return Ok(());
    }
    Err(NameError::new(
        format!("`{text}` is no API version"),
        "type `v` and a number, optionally followed by `alpha` or `beta` and a number, \
         such as `v1` or `v1beta2`",
    ))
}

pub(super) fn kind(text: &str) -> Result<(), NameError> {
    let camel = text.starts_with(|c: char| c.is_ascii_uppercase())
        && text.len() <= KIND_MAX
        && text.chars().all(|c| c.is_ascii_alphanumeric());
    if !camel {
        return Err(NameError::new(
            format!(
                "`{text}` is no kind: it must be upper camel case, of at most {KIND_MAX} letters and digits"
            ),
            "type a name such as `CronJob`",
        ));
    }
    if let Some(why) = reserved::kind(text) {
        return Err(NameError::new(
            format!("`{text}` cannot be a kind: {why}"),
            format!("type a name of its own, such as `My{text}`"),
        ));
    }
    Ok(())
}

pub(super) fn plural(text: &str) -> Result<(), NameError> {
    if is_dns1035_label(text) {
        return Ok(());
    }
    Err(NameError::new(
        format!("`{text}` is no resource name: it must be a DNS-1035 label"),
        "type lower-case letters, digits and `-` after `--plural`, beginning with a letter, such as `cronjobs`",
    ))
}

pub(super) fn controller_name(text: &str) -> Result<(), NameError> {
    if is_dns1035_label(text) {
        return Ok(());
    }
    Err(NameError::new(
        format!(
            "`{}` is no controller name: it must be a DNS-1035 label",
            text.escape_debug()
        ),
        "type lower-case letters, digits and `-` after `--controller-name`, beginning with a letter, such as `captain-backup`",
    ))
}

/// What the API server takes as the path of a webhook's service: it bounds a segment, but not the
/// words between its dots (`ValidateWebhookService` in apiserver).
pub(super) fn webhook_path(text: &str) -> Result<(), NameError> {
    let segments = text.strip_prefix('/');
    if !segments.is_some_and(|segments| segments.split('/').all(is_subdomain)) {
        return Err(NameError::new(
            format!(
                "`{}` is no path of a webhook: each segment must be a DNS-1123 subdomain",
                text.escape_debug()
            ),
            "type `/`, lower-case letters, digits, `-` and `.`, such as `/mutate-cronjobs`",
        ));
    }
    if text == CONVERT {
        return Err(NameError::new(
            format!("`{text}` is where conversions are served"),
            "type another path, such as `/mutate-cronjobs`",
        ));
    }
    Ok(())
}

/// Characters that end a line or turn its direction; rustc refuses the latter in a comment.
fn is_unreadable(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

pub(super) fn owner(text: &str) -> Result<(), NameError> {
    let is_trimmed = !text.is_empty() && text.trim() == text;
    if is_trimmed && text.len() <= 200 && !text.chars().any(is_unreadable) {
        return Ok(());
    }
    Err(NameError::new(
        format!("`{}` is no copyright holder", text.escape_debug()),
        "type one line of text after `--owner`, such as `The CronJob authors`",
    ))
}

pub(super) fn repo(text: &str) -> Result<(), NameError> {
    let visible = text
        .chars()
        .all(|c| c.is_ascii_graphic() && !matches!(c, '"' | '\\' | '`'));
    let host = text
        .split_once("://")
        .filter(|(scheme, _)| matches!(*scheme, "https" | "http" | "ssh"));
    if visible && text.len() <= 2000 && host.is_some_and(|(_, rest)| rest.len() > 1) {
        return Ok(());
    }
    let remedy = match text.contains("://") {
        true => "type a URL after `--repo`, such as `https://github.com/example/operator`",
        false => {
            "leave `--repo` out, since no module path is needed, or type a URL, such as \
             `https://github.com/example/operator`"
        }
    };
    Err(NameError::new(
        format!("`{}` is no repository URL", text.escape_debug()),
        remedy,
    ))
}

pub(super) fn type_path(text: &str) -> Result<(), NameError> {
    let segments: Vec<&str> = text.split("::").collect();
    let is_crate = !["crate", "self", "super"].contains(&segments[0]);
    let is_type = segments
        .last()
        .is_some_and(|last| last.starts_with(|c: char| c.is_ascii_uppercase()) && *last != "Self");
    let are_names = segments.iter().all(|it| is_identifier(it));
    if segments.len() > 1 && is_crate && is_type && are_names {
        return Ok(());
    }
    Err(NameError::new(
        format!("`{text}` is not the path of a Rust type from its crate on"),
        "type crate, modules and type, such as `cert_manager::v1::Certificate`",
    ))
}

/// An identifier of ASCII letters that is no keyword.
fn is_identifier(text: &str) -> bool {
    let is_start = |c: char| c.is_ascii_alphabetic() || c == '_';
    text != "_"
        && text.starts_with(is_start)
        && text.chars().all(|c| is_start(c) || c.is_ascii_digit())
        && !reserved::is_keyword(text)
}

pub(super) fn crate_spec(text: &str) -> Result<(), NameError> {
    let (name, requirement) = match text.split_once('@') {
        Some((name, requirement)) => (name, Some(requirement)),
        None => (text, None),
    };
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    // Which requirements there are is for cargo to say; these letters are no option and no path.
    let is_requirement = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_digit() || "=<>~^*".contains(c))
            && text
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "=<>~^*.,+- ".contains(c))
    };
    if is_name && requirement.is_none_or(is_requirement) {
        return Ok(());
    }
    Err(NameError::new(
        format!("`{text}` is not a crate and its version"),
        "type CRATE@VERSION as `cargo add` takes it, such as `cert-manager@1.2`; a crate that is not in the \
         registry is added to Cargo.toml by hand, and the option left out",
    ))
}
