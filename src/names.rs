//! Validated names: what a user may call a project, a domain, a group, a version, a kind.
//!
//! A value of one of these types has been checked against the rule of its field, so the rest of
//! kbr renders it into paths, Rust, TOML and YAML without asking again. Pure: no look at the disk
//! or at the project; what two names must not be *together* is decided in
//! [`crate::commands::create_api`].

mod plural;
mod reserved;

use std::fmt;
use std::str::FromStr;

pub use plural::pluralize;

/// Why a name was refused, and what to type instead; both in one sentence each.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}; {remedy}")]
pub struct NameError {
    pub reason: String,
    pub remedy: String,
}

impl NameError {
    fn new(reason: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            remedy: remedy.into(),
        }
    }
}

/// Declares a newtype over `String` whose only way in is [`FromStr`], serde included.
macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $check:path) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(serde::Serialize, serde::Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = NameError;

            fn from_str(text: &str) -> Result<Self, NameError> {
                $check(text).map(|()| Self(text.to_owned()))
            }
        }

        impl TryFrom<String> for $name {
            type Error = NameError;

            fn try_from(text: String) -> Result<Self, NameError> {
                $check(&text).map(|()| Self(text))
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name!(
    /// Name of the project: a DNS-1123 label that cargo takes as a package name and that leaves
    /// room for the names kustomize builds from it.
    ProjectName,
    check_project_name
);
name!(
    /// Suffix of the project's API groups: a DNS-1123 subdomain such as `example.com`.
    Domain,
    check_domain
);
name!(
    /// Part of an API group before the domain: a DNS-1123 subdomain such as `batch`.
    Group,
    check_group
);
name!(
    /// API version in the form of the Kubernetes API conventions: `v1`, `v1beta2`, `v2alpha1`.
    Version,
    check_version
);
name!(
    /// Kind of an API type: upper camel case, and free to stand in the emitted Rust code.
    Kind,
    check_kind
);
name!(
    /// Resource name in the plural, as it stands in the URL: a DNS-1035 label such as `cronjobs`.
    Plural,
    check_plural
);
name!(
    /// Copyright holder named in license headers: one line of text.
    Owner,
    check_owner
);
name!(
    /// URL of the source repository; becomes Cargo's `repository`.
    Repo,
    check_repo
);

impl ProjectName {
    /// The name as a Rust identifier: the library crate's name.
    pub fn crate_name(&self) -> String {
        self.0.replace('-', "_")
    }
}

impl Kind {
    /// The kind in lower case: singular resource name, file and module stem.
    pub fn lower(&self) -> String {
        self.0.to_ascii_lowercase()
    }
}

/// Longest name that fits a Kubernetes label value, a DNS label and so a Service name (RFC 1123).
const LABEL_MAX: usize = 63;

/// Longest kind: with `List` behind it, it is still a label (`ValidateCustomResourceDefinitionNames`
/// in apiextensions-apiserver).
const KIND_MAX: usize = LABEL_MAX - "List".len();

/// Longest DNS subdomain (RFC 1123).
const SUBDOMAIN_MAX: usize = 253;

/// Longest name of a CRD: a DNS subdomain, and with `.yaml` behind it the name of a file, which
/// most file systems bound at 255 bytes.
pub const CRD_NAME_MAX: usize = 250;

/// Longest name that kustomize makes of the project's: a Service, whose name is a DNS label.
const LONGEST_OBJECT_SUFFIX: &str = "-controller-manager-metrics-service";

fn is_label_char(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'
}

/// DNS-1123 label: lower-case letters, digits and `-`, no `-` at either end.
fn is_dns1123_label(text: &str) -> bool {
    (1..=LABEL_MAX).contains(&text.len())
        && text.chars().all(is_label_char)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

/// DNS-1035 label: a DNS-1123 label that begins with a letter.
fn is_dns1035_label(text: &str) -> bool {
    is_dns1123_label(text) && text.starts_with(|c: char| c.is_ascii_lowercase())
}

fn is_dns1123_subdomain(text: &str) -> bool {
    text.len() <= SUBDOMAIN_MAX && text.split('.').all(is_dns1123_label)
}

fn check_project_name(text: &str) -> Result<(), NameError> {
    let longest = LABEL_MAX - LONGEST_OBJECT_SUFFIX.len();
    if !is_dns1123_label(text) {
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
            format!("`{text}` can not be the project's name: {why}"),
            format!("type another name after `--project-name`, such as `{text}-operator`"),
        ));
    }
    Ok(())
}

fn check_domain(text: &str) -> Result<(), NameError> {
    if is_dns1123_subdomain(text) {
        return Ok(());
    }
    Err(NameError::new(
        format!("`{text}` is no domain: it must be a DNS-1123 subdomain"),
        "type lower-case letters, digits, `-` and `.`, such as `example.com`",
    ))
}

fn check_group(text: &str) -> Result<(), NameError> {
    if is_dns1123_subdomain(text) {
        return Ok(());
    }
    Err(NameError::new(
        format!("`{text}` is no API group: it must be a DNS-1123 subdomain"),
        "type lower-case letters, digits, `-` and `.`, such as `batch`, \
         or leave `--group` out to use the domain itself",
    ))
}

fn check_version(text: &str) -> Result<(), NameError> {
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

fn check_kind(text: &str) -> Result<(), NameError> {
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
            format!("`{text}` can not be a kind: {why}"),
            format!("type a name of its own, such as `My{text}`"),
        ));
    }
    Ok(())
}

fn check_plural(text: &str) -> Result<(), NameError> {
    if is_dns1035_label(text) {
        return Ok(());
    }
    Err(NameError::new(
        format!("`{text}` is no resource name: it must be a DNS-1035 label"),
        "type lower-case letters, digits and `-` after `--plural`, beginning with a letter, such as `cronjobs`",
    ))
}

/// Characters that end a line or turn its direction; rustc refuses the latter in a comment.
fn is_unreadable(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

fn check_owner(text: &str) -> Result<(), NameError> {
    let is_trimmed = !text.is_empty() && text.trim() == text;
    if is_trimmed && text.len() <= 200 && !text.chars().any(is_unreadable) {
        return Ok(());
    }
    Err(NameError::new(
        format!("`{}` is no copyright holder", text.escape_debug()),
        "type one line of text after `--owner`, such as `The CronJob authors`",
    ))
}

fn check_repo(text: &str) -> Result<(), NameError> {
    let visible = text
        .chars()
        .all(|c| c.is_ascii_graphic() && !matches!(c, '"' | '\\' | '`'));
    let host = text
        .split_once("://")
        .filter(|(scheme, _)| matches!(*scheme, "https" | "http" | "ssh"));
    if visible && text.len() <= 2000 && host.is_some_and(|(_, rest)| rest.len() > 1) {
        return Ok(());
    }
    Err(NameError::new(
        format!("`{}` is no repository URL", text.escape_debug()),
        "type a URL after `--repo`, such as `https://github.com/example/operator`",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether each of `names` is accepted (or refused) by `T`.
    fn each<T: FromStr>(names: &[&str], accepted: bool) {
        for name in names {
            assert_eq!(name.parse::<T>().is_ok(), accepted, "{name:?}");
        }
    }

    #[test]
    fn project_names_are_packages_and_labels() {
        each::<ProjectName>(&["cronjob", "my-operator", "a", "op2"], true);
        each::<ProjectName>(
            &[
                "", "Cron", "a_b", "-a", "a-", "1a", "a.b", "ü", "a b", "../x",
            ],
            false,
        );
        each::<ProjectName>(
            &[
                "api", "runtime", "crdgen", "tokio", "kube", "fn", "test", "std", "build",
            ],
            false,
        );
        each::<ProjectName>(&["serde-json", "con"], false);
        each::<ProjectName>(&["a".repeat(28).as_str()], true);
        each::<ProjectName>(&["a".repeat(29).as_str()], false);
    }

    #[test]
    fn versions_have_the_form_of_the_api_conventions() {
        each::<Version>(&["v1", "v12", "v1alpha1", "v2beta3"], true);
        each::<Version>(
            &[
                "", "1", "v", "v0", "v01", "v1.2", "v-1", "v1gamma1", "v1alpha", "v1alpha0", "V1",
                "foo",
            ],
            false,
        );
        each::<Version>(&["v1beta", "v1alpha1beta1", "v99999999999999"], false);
    }

    #[test]
    fn kinds_are_upper_camel_case_and_not_taken() {
        each::<Kind>(&["CronJob", "HTTPProxy", "Redis", "A", "Foo2"], true);
        each::<Kind>(
            &[
                "", "cronJob", "Cron-Job", "Cron_Job", "2Foo", "Föö", "Foo Bar",
            ],
            false,
        );
        each::<Kind>(
            &[
                "Result",
                "Option",
                "Box",
                "Self",
                "Api",
                "Controller",
                "Vec",
                "String",
            ],
            false,
        );
        each::<Kind>(&["A".repeat(59).as_str()], true);
        each::<Kind>(&["A".repeat(60).as_str()], false);
    }

    #[test]
    fn domains_and_groups_are_subdomains() {
        each::<Domain>(&["example.com", "x", "my-org.io", "1.2"], true);
        each::<Domain>(
            &["", ".", "a..b", "Example.com", "a_b", "-a.b", "a.b-", "a/b"],
            false,
        );
        each::<Group>(&["batch", "foo.policy", "sea-creatures"], true);
        each::<Group>(&["", "Batch", "a/b", ".."], false);
    }

    #[test]
    fn free_text_stays_on_its_line() {
        each::<Owner>(&["The CronJob authors", "Jörg \"J\" & Söhne"], true);
        each::<Owner>(
            &["", " ", " a", "a ", "a\nb", "a\u{7}", "a\u{202e}b"],
            false,
        );
        each::<Repo>(&["https://github.com/a/b", "ssh://git@host/a"], true);
        each::<Repo>(
            &[
                "",
                "github.com/a/b",
                "https://a\"b",
                "https://a b",
                "https://",
                "ftp://a",
            ],
            false,
        );
    }

    #[test]
    fn a_refusal_says_what_to_type() {
        let refused = "Foo_bar".parse::<Domain>().expect_err("not a domain");
        assert_eq!(
            refused.to_string(),
            "`Foo_bar` is no domain: it must be a DNS-1123 subdomain; \
             type lower-case letters, digits, `-` and `.`, such as `example.com`"
        );
    }
}
