//! The rule of each name, and the message of its refusal.
//!
//! A rule depends only on the text. If it has another source (Kubernetes, DNS, cargo), it says so.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use http::Uri;
use regex_lite::Regex;

use super::dns::{LABEL_MAX, SUBDOMAIN_MAX, is_label, is_subdomain};
use super::objects::{METRICS_SERVICE, deployed};
use super::{NameError, near, reserved};

/// Longest kind: with `List` appended, it is still a label (`ValidateCustomResourceDefinitionNames`
/// in apiextensions-apiserver).
const KIND_MAX: usize = LABEL_MAX - "List".len();

/// Longest name of a webhook, a DNS subdomain.
pub(crate) const WEBHOOK_NAME_MAX: usize = SUBDOMAIN_MAX;

/// Where the operator serves conversions of all kinds.
const CONVERT: &str = "/convert";

/// Longest name of a CRD: a DNS subdomain, and with `.yaml` appended the name of a file, which most
/// file systems limit to 255 bytes.
pub(crate) const CRD_NAME_MAX: usize = 250;

/// DNS-1035 label: a DNS-1123 label that begins with a letter.
fn is_dns1035_label(text: &str) -> bool {
    is_label(text) && text.starts_with(|c: char| c.is_ascii_lowercase())
}

/// DNS-1123 subdomain whose words are labels, as required of a host name.
fn is_domain(text: &str) -> bool {
    is_subdomain(text) && text.split('.').all(is_label)
}

fn matches(pattern: &'static str, text: &str) -> bool {
    compiled(pattern).is_some_and(|regex| regex.is_match(text))
}

/// The pattern as an expression, which is kept: PROJECT alone has dozens of names.
pub(super) fn compiled(pattern: &'static str) -> Option<Regex> {
    static ALL: LazyLock<Mutex<HashMap<&str, Regex>>> = LazyLock::new(Mutex::default);
    let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = all.get(pattern) {
        return Some(known.clone());
    }
    let regex = Regex::new(pattern).ok()?;
    all.insert(pattern, regex.clone());
    Some(regex)
}

/// A version as OLM reads it. It is a part of the name of the ClusterServiceVersion, `PROJECT.vVERSION`, which is also a
/// label of other objects.
pub(super) fn bundle_version(text: &str) -> Result<(), NameError> {
    const HELP: &str = "type a version such as `1.2.3`, or `1.2.3-rc.1`";
    let longest = deployed("", METRICS_SERVICE).len() - ".v".len();
    let version = semver::Version::parse(text);
    NameError::unless(
        version.is_ok(),
        format!("`{text}` is not a semantic version"),
        HELP,
    )?;
    NameError::unless(
        version.is_ok_and(|version| version.build.is_empty()),
        format!("`{text}` has build metadata, which the name of an object cannot have"),
        HELP,
    )?;
    NameError::unless(
        is_subdomain(text),
        format!("`{text}` cannot be a part of the name of an object"),
        "type lower-case letters, digits, `.` and `-`, such as `1.2.3-rc.1`",
    )?;
    NameError::unless(
        text.len() <= longest,
        format!(
            "`{text}` is too long: with the project's name, it must fit the {LABEL_MAX} characters of a label"
        ),
        format!("type at most {longest} characters"),
    )
}

pub(super) fn project_name(text: &str) -> Result<(), NameError> {
    // The name of a Service is a DNS label.
    let suffix = deployed("", METRICS_SERVICE);
    let longest = LABEL_MAX - suffix.len();
    NameError::unless(
        is_label(text),
        format!("`{text}` is not a project name: it must be a DNS-1123 label"),
        "type lower-case letters, digits and `-` after `--project-name`, such as `my-operator`",
    )?;
    NameError::unless(
        text.len() <= longest,
        format!(
            "`{text}` is too long for a project name: with the suffix `{suffix}`, it must fit the {LABEL_MAX} characters of a Service name"
        ),
        format!("type at most {longest} characters after `--project-name`"),
    )?;
    NameError::unless(
        is_dns1035_label(text),
        format!("`{text}` is not a project name: cargo refuses a package that begins with a digit"),
        "type a name that begins with a letter after `--project-name`",
    )?;
    match reserved::project_name(text) {
        Some(why) => Err(NameError {
            reason: format!("`{text}` cannot be the project's name: {why}"),
            remedy: format!("type another name after `--project-name`, such as `{text}-operator`"),
        }),
        None => Ok(()),
    }
}

pub(super) fn lease_name(text: &str) -> Result<(), NameError> {
    NameError::unless(
        is_subdomain(text),
        format!("`{text}` is not a name of a Lease: it must be a DNS-1123 subdomain"),
        "type lower-case letters, digits, `-` and `.`, such as `my-operator.example.com`",
    )
}

pub(super) fn domain(text: &str) -> Result<(), NameError> {
    NameError::unless(
        is_domain(text),
        format!("`{text}` is not a domain: it must be a DNS-1123 subdomain"),
        "type lower-case letters, digits, `-` and `.`, such as `example.com`",
    )
}

pub(super) fn group(text: &str) -> Result<(), NameError> {
    NameError::unless(
        is_domain(text),
        format!("`{text}` is not an API group: it must be a DNS-1123 subdomain"),
        "type lower-case letters, digits, `-` and `.`, such as `batch`, \
         or omit `--group` to use the domain itself",
    )
}

pub(super) fn group_module(text: &str) -> Result<(), NameError> {
    NameError::unless(
        is_dns1035_label(&text.replace('_', "-")) && !text.contains('-') && !text.contains("__"),
        format!("`{text}` is not the name of a module"),
        "type lower-case letters, digits and `_`, beginning with a letter, such as `crew_sea`",
    )?;
    NameError::unless(
        reserved::group_module(text, "") == text,
        format!("`{text}` cannot be the module of a group: Rust or every project has that name"),
        format!("type another name, such as `{text}_group`"),
    )
}

/// What an API server accepts (`validateCustomResourceDefinitionSpec` in apiextensions-apiserver).
pub(super) fn version(text: &str) -> Result<(), NameError> {
    NameError::unless(
        is_dns1035_label(text),
        format!("`{text}` is not an API version: it must be a DNS-1035 label"),
        "type a name such as `v1`",
    )
}

/// The version of a new type, in the form of Kubernetes' API conventions.
pub(super) fn new_version(text: &str) -> Result<(), NameError> {
    NameError::unless(
        matches("^v[1-9][0-9]{0,8}((alpha|beta)[1-9][0-9]{0,8})?$", text),
        format!("`{text}` is not an API version"),
        "type `v` and a number, optionally followed by `alpha` or `beta` and a number, \
         such as `v1` or `v1beta2`",
    )
}

/// The kind of a new type, in the form of Kubernetes' API conventions.
pub(super) fn new_kind(text: &str) -> Result<(), NameError> {
    NameError::unless(
        text.len() <= KIND_MAX && matches("^[A-Z][A-Za-z0-9]*$", text),
        format!(
            "`{text}` is not a kind: it must be upper camel case, of at most {KIND_MAX} letters and digits"
        ),
        "type a name such as `CronJob`",
    )?;
    kind(text)
}

/// What an API server accepts and Rust can say.
pub(super) fn kind(text: &str) -> Result<(), NameError> {
    NameError::unless(
        text.len() <= KIND_MAX && matches("^[A-Za-z][A-Za-z0-9]*$", text),
        format!(
            "`{text}` is not a kind: it must be of at most {KIND_MAX} letters and digits, and begin with a letter"
        ),
        "type a name such as `CronJob`",
    )?;
    match reserved::kind(&near::kind(text)) {
        Some(why) => Err(NameError {
            reason: format!("`{text}` cannot be a kind: {why}"),
            remedy: format!("type another name, such as `My{}`", near::kind(text)),
        }),
        None => Ok(()),
    }
}

pub(super) fn plural(text: &str) -> Result<(), NameError> {
    NameError::unless(
        is_dns1035_label(text),
        format!("`{text}` is not a resource name: it must be a DNS-1035 label"),
        "type lower-case letters, digits and `-` after `--plural`, beginning with a letter, such as `cronjobs`",
    )
}

pub(super) fn controller_name(text: &str) -> Result<(), NameError> {
    NameError::unless(
        is_dns1035_label(text),
        format!(
            "`{}` is not a controller name: it must be a DNS-1035 label",
            text.escape_debug()
        ),
        "type lower-case letters, digits and `-` after `--controller-name`, beginning with a letter, such as `captain-backup`",
    )
}

/// What the API server accepts as the path of a webhook's service: it limits the length of a segment,
/// but not that of the words between its dots (`ValidateWebhookService` in apiserver).
pub(super) fn webhook_path(text: &str) -> Result<(), NameError> {
    let segments = text.strip_prefix('/');
    NameError::unless(
        segments.is_some_and(|segments| segments.split('/').all(is_subdomain)),
        format!(
            "`{}` is not a path of a webhook: each segment must be a DNS-1123 subdomain",
            text.escape_debug()
        ),
        "type `/`, lower-case letters, digits, `-` and `.`, such as `/mutate-cronjobs`",
    )?;
    NameError::unless(
        text != CONVERT,
        format!("`{text}` is the path of conversions"),
        "type another path, such as `/mutate-cronjobs`",
    )
}

/// Characters that end a line or change its direction; rustc refuses the latter in a comment.
fn is_unreadable(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

pub(super) fn owner(text: &str) -> Result<(), NameError> {
    let is_trimmed = !text.is_empty() && text.trim() == text;
    NameError::unless(
        is_trimmed && text.len() <= 200 && !text.chars().any(is_unreadable),
        format!("`{}` is not a copyright holder", text.escape_debug()),
        "type one line of text after `--owner`, such as `The CronJob authors`",
    )
}

fn is_repo(text: &str) -> bool {
    let is_visible = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '\\' | '`');
    let is_url = |uri: Uri| {
        matches!(uri.scheme_str(), Some("https" | "http" | "ssh")) && uri.host().is_some()
    };
    text.len() <= 2000 && text.chars().all(is_visible) && text.parse().is_ok_and(is_url)
}

pub(super) fn repo(text: &str) -> Result<(), NameError> {
    let remedy = if text.contains("://") {
        "type a URL after `--repo`, such as `https://github.com/example/operator`"
    } else {
        "omit `--repo`, since no module path is needed, or type a URL, such as \
             `https://github.com/example/operator`"
    };
    NameError::unless(
        is_repo(text),
        format!("`{}` is not a repository URL", text.escape_debug()),
        remedy,
    )
}

pub(super) fn type_path(text: &str) -> Result<(), NameError> {
    let segments: Vec<&str> = text.split("::").collect();
    let is_crate = !["crate", "self", "super"].contains(&segments[0]);
    let is_type = segments
        .last()
        .is_some_and(|last| last.starts_with(|c: char| c.is_ascii_uppercase()) && *last != "Self");
    let are_names = segments.iter().all(|it| is_identifier(it));
    NameError::unless(
        segments.len() > 1 && is_crate && is_type && are_names,
        format!("`{text}` is not the full path of a Rust type"),
        "type crate, modules and type, such as `cert_manager::v1::Certificate`",
    )
}

/// An identifier of ASCII letters that is not a keyword.
fn is_identifier(text: &str) -> bool {
    text != "_" && matches("^[A-Za-z_][A-Za-z0-9_]*$", text) && !reserved::is_keyword(text)
}

pub(super) fn crate_spec(text: &str) -> Result<(), NameError> {
    // cargo checks the requirement; these characters cannot make it an option or a path.
    let is_spec = matches(
        "^[A-Za-z][A-Za-z0-9_-]*(@[0-9=<>~^*][A-Za-z0-9=<>~^*.,+ -]*)?$",
        text,
    );
    NameError::unless(
        is_spec,
        format!("`{text}` is not a crate and its version"),
        "type CRATE@VERSION, as for `cargo add`, such as `cert-manager@1.2`; for a crate that is not \
         in the registry, omit the option and edit Cargo.toml",
    )
}

/// Longest image reference: a limit of kbr, far beyond what registries accept.
const IMAGE_MAX: usize = 500;

/// The grammar of image references in the OCI distribution project: an optional host with a port, a
/// path, an optional tag and an optional digest.
pub(super) fn image(text: &str) -> Result<(), NameError> {
    let (rest, digest) = halves(text, '@');
    let (name, tag) = split_image(rest);
    let (host, path) = match name.split_once('/') {
        Some((first, path)) if first.contains(['.', ':']) || first == "localhost" => {
            (Some(first), path)
        }
        _ => (None, name),
    };
    // Lower-case letters and digits, with `.`, `_`, `__` or any number of `-` between them.
    let is_component = |text: &str| matches(r"^[a-z0-9]+((\.|__?|-+)[a-z0-9]+)*$", text);
    let is_tag = |text: &str| matches("^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$", text);
    // The digests that registries use.
    let is_digest = |text: &str| matches("^(sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$", text);
    NameError::unless(
        text.len() <= IMAGE_MAX
            && host.is_none_or(is_registry)
            && path.split('/').all(is_component)
            && tag.is_none_or(is_tag)
            && digest.is_none_or(is_digest),
        format!("`{}` is not an image reference", text.escape_debug()),
        "type it as for `docker pull`, such as `memcached:1.6.26-alpine` or \
         `registry.example.com/team/app@sha256:…`",
    )
}

/// The name and the tag of an image. With a digest, the name ends in `@sha256`, and the digest is the tag.
pub(crate) fn split_image(image: &str) -> (&str, Option<&str>) {
    match image.rsplit_once(':') {
        // A colon before a slash belongs to the host's port.
        Some((name, tag)) if !tag.contains('/') => (name, Some(tag)),
        _ => (image, None),
    }
}

/// The text before a separator, and the text after it, if it is there.
fn halves(text: &str, separator: char) -> (&str, Option<&str>) {
    let halves = text.split_once(separator);
    halves.map_or((text, None), |(before, after)| (before, Some(after)))
}

/// A host, with or without a port.
fn is_registry(text: &str) -> bool {
    let (host, port) = halves(text, ':');
    is_subdomain(&host.to_ascii_lowercase()) && port.is_none_or(|port| port.parse::<u16>().is_ok())
}

pub(super) fn command_word(text: &str) -> Result<(), NameError> {
    NameError::unless(
        !text.is_empty() && text.len() <= 1000 && !text.chars().any(is_unreadable),
        format!("`{}` is not a word of a command", text.escape_debug()),
        "separate the words with `,`, such as `memcached,--memory-limit=64,-v`",
    )
}
