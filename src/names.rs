//! Validated names: what a user may call a project, a domain, a group, a version, a kind.
//!
//! A value of one of these types has been checked against the rule of its field, so the rest of
//! kbr renders it into paths, Rust, TOML and YAML without checking again. Pure: it reads neither the
//! disk nor the project; conflicts *between* names are checked in [`crate::commands::clashes`].

pub(crate) mod dns;
mod near;
pub(crate) mod objects;
mod plural;
mod reserved;
mod rules;

use std::fmt;
use std::str::FromStr;

pub(crate) use plural::pluralize;
pub(crate) use reserved::{group_module, is_among, is_keyword, version_module};
pub(crate) use rules::{CRD_NAME_MAX, WEBHOOK_NAME_MAX, split_image};

/// Why a name was refused, and what to type instead; one sentence each.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}; {remedy}")]
pub(crate) struct NameError {
    pub(crate) reason: String,
    /// What to type instead.
    pub(crate) remedy: String,
}

impl NameError {
    fn unless(
        is_valid: bool,
        reason: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Result<(), Self> {
        if is_valid {
            Ok(())
        } else {
            Err(Self {
                reason: reason.into(),
                remedy: remedy.into(),
            })
        }
    }

    /// Says to type the name that was probably meant, if there is one that the rule accepts.
    fn or_meant(self, meant: &str, is_accepted: bool) -> Self {
        if is_accepted {
            Self {
                remedy: format!("type `{meant}`"),
                ..self
            }
        } else {
            self
        }
    }
}

/// Checks a name by its rule.
fn checked(
    text: String,
    rule: fn(&str) -> Result<(), NameError>,
    near: fn(&str) -> String,
) -> Result<String, NameError> {
    match rule(&text) {
        Ok(()) => Ok(text),
        Err(refused) => {
            let meant = near(&text);
            let is_accepted = rule(&meant).is_ok();
            Err(refused.or_meant(&meant, is_accepted))
        }
    }
}

/// Declares newtypes over `String` that can only be made by parsing, also by serde, each with its rule and a function
/// that guesses the name that was meant.
macro_rules! names {
    ($($(#[$doc:meta])* $name:ident => $check:path, $near:path;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(serde::Serialize, serde::Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub(crate) struct $name(String);

        impl $name {
            #[allow(dead_code, reason = "not each of these names is needed as a text")]
            pub(crate) fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = NameError;

            fn from_str(text: &str) -> Result<Self, NameError> {
                Self::try_from(text.to_owned())
            }
        }

        impl TryFrom<String> for $name {
            type Error = NameError;

            fn try_from(text: String) -> Result<Self, NameError> {
                checked(text, $check, $near).map(Self)
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
    )*};
}

names! {
    /// Name of the project: a DNS-1123 label that cargo accepts as a package name and that leaves
    /// room for the names kustomize builds from it.
    ProjectName => rules::project_name, near::label;
    /// Name of a Lease: a DNS-1123 subdomain such as `my-operator.example.com`.
    LeaseName => rules::lease_name, near::subdomain;
    /// Suffix of the project's API groups: a DNS-1123 subdomain such as `example.com`.
    Domain => rules::domain, near::subdomain;
    /// Part of an API group before the domain: a DNS-1123 subdomain such as `batch`.
    Group => rules::group, near::subdomain;
    /// Rust module of an API group: an identifier such as `crew_sea` that becomes a DNS label with `-` for `_`.
    GroupModule => rules::group_module, near::group_module;
    /// API version: a DNS-1035 label such as `v1beta2`.
    Version => rules::version, near::version;
    /// Kind of an API type, such as `CronJob`, whose name in upper camel case is not taken in the emitted Rust code.
    Kind => rules::kind, near::kind;
    /// Resource name in the plural, as in URLs: a DNS-1035 label such as `cronjobs`.
    Plural => rules::plural, near::plural;
    /// URL path of an admission webhook, such as `/mutate-batch-example-com-v1-cronjob`.
    WebhookPath => rules::webhook_path, near::webhook_path;
    /// Name of a controller: a DNS-1035 label such as `captain-backup`.
    ControllerName => rules::controller_name, near::label;
    /// Full path of a Rust type, starting with its crate: `cert_manager::v1::Certificate`.
    TypePath => rules::type_path, near::type_path;
    /// A crate of the registry as `cargo add` accepts it, such as `cert-manager@1.2`.
    CrateSpec => rules::crate_spec, near::crate_spec;
    /// A container image as `docker pull` accepts it, such as `memcached:1.6.26-alpine`.
    ImageRef => rules::image, near::image;
    /// Version of a bundle: a semantic version such as `1.2.3` or `1.2.3-rc.1`.
    BundleVersion => rules::bundle_version, near::semantic_version;
    /// A word of the command of a container: one line of text.
    CommandWord => rules::command_word, near::trimmed;
    /// Copyright holder named in license headers: one line of text.
    Owner => rules::owner, near::trimmed;
    /// URL of the source repository; becomes Cargo's `repository`.
    Repo => rules::repo, near::trimmed;
}

/// What is typed as the source repository: its URL, or the path of a Go module, which kubebuilder takes.
#[derive(Debug, Clone)]
pub(crate) struct TypedRepo {
    pub(crate) repo: Repo,
    /// The module path, if it was one.
    pub(crate) module: Option<String>,
}

impl FromStr for TypedRepo {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let host = text.split('/').next().unwrap_or_default();
        // The first part of a module path that can be downloaded has a dot.
        let is_module = !text.contains("://") && host.contains('.') && dns::is_subdomain(host);
        let module = is_module.then(|| text.to_owned());
        let repo = module
            .as_ref()
            .map(|path| format!("https://{path}").parse());
        Ok(Self {
            repo: repo.unwrap_or_else(|| text.parse())?,
            module,
        })
    }
}

impl ProjectName {
    /// The name as a Rust identifier: the library crate's name.
    pub(crate) fn crate_name(&self) -> String {
        self.0.replace('-', "_")
    }

    /// The operator's namespace in a cluster.
    pub(crate) fn namespace(&self) -> String {
        objects::deployed(&self.0, objects::NAMESPACE)
    }
}

/// A group and its module, as typed: `crew.sea.org=crew_sea`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TypedModule {
    pub(crate) group: Group,
    pub(crate) module: GroupModule,
}

impl FromStr for TypedModule {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let (group, module) = text.split_once('=').ok_or_else(|| NameError {
            reason: format!("`{text}` is not a group and its module"),
            remedy: "type them with `=` between them, such as `crew.sea.org=crew_sea`".to_owned(),
        })?;
        let (group, module) = (group.parse()?, module.parse()?);
        Ok(Self { group, module })
    }
}

impl CrateSpec {
    /// The crate's name in the registry.
    pub(crate) fn name(&self) -> &str {
        self.0.split_once('@').map_or(&self.0, |(name, _)| name)
    }
}

impl Kind {
    /// Parses a kind that was typed: in upper camel case, or one of those that are known. A word that is neither, but
    /// means one of them, is refused with that kind.
    pub(crate) fn typed(text: &str, known: &[String]) -> Result<Self, NameError> {
        if known.iter().any(|kind| kind == text) {
            return text.parse();
        }
        let new = checked(text.to_owned(), rules::new_kind, near::kind).map(Self);
        new.map_err(|refused| match Self::meant(text, known) {
            Some(kind) => refused.or_meant(kind, true),
            None => refused,
        })
    }

    /// Parses the kind of a type that is created: one that follows no convention is refused only if Kubernetes or Rust has
    /// no such name, or if it means a kind that is known.
    pub(crate) fn created(text: &str, known: &[String]) -> Result<Self, NameError> {
        match Self::typed(text, known) {
            Err(_) if Self::meant(text, known).is_none() => text.parse(),
            typed => typed,
        }
    }

    /// The known kind that a word means: in another case, with other separators, or in the plural.
    fn meant<'a>(text: &str, known: &'a [String]) -> Option<&'a String> {
        let simple = |text: &str| text.to_lowercase().replace(['-', '_', '.', ' '], "");
        let typed = simple(text);
        known.iter().find(|kind| {
            let kind = simple(kind);
            kind == typed || pluralize(&kind) == typed
        })
    }

    /// Name of its type in Rust, in upper camel case.
    pub(crate) fn type_name(&self) -> String {
        type_name(&self.0)
    }

    /// What is unusual about it.
    pub(crate) fn unusual(&self) -> Option<String> {
        let type_name = self.type_name();
        (type_name != self.0).then(|| {
            format!(
                "the kind `{self}` is not in upper camel case; its type in Rust is `{type_name}`"
            )
        })
    }

    /// The kind in lower case: singular resource name, file and module stem.
    pub(crate) fn lower(&self) -> String {
        self.0.to_ascii_lowercase()
    }
}

/// Name of the Rust type of a kind.
pub(crate) fn type_name(kind: &str) -> String {
    near::kind(kind)
}

impl Version {
    /// Parses a version that was typed: in the form of the Kubernetes API conventions, or one of those that are known.
    pub(crate) fn typed(text: &str, known: &[String]) -> Result<Self, NameError> {
        if known.iter().any(|version| version == text) {
            return text.parse();
        }
        checked(text.to_owned(), rules::new_version, near::version).map(Self)
    }

    /// Parses the version of a type that is created: whatever Kubernetes accepts.
    pub(crate) fn created(text: &str, known: &[String]) -> Result<Self, NameError> {
        text.parse().or_else(|_| Self::typed(text, known))
    }

    /// What is unusual about it.
    pub(crate) fn unusual(&self) -> Option<String> {
        rules::new_version(&self.0).is_err().then(|| {
            format!(
                "the version `{self}` does not have a form such as `v1` or `v1beta2`: Kubernetes sorts it after those \
                 that have; its module in Rust is `{}`",
                self.module()
            )
        })
    }

    /// Name of its Rust module.
    pub(crate) fn module(&self) -> String {
        version_module(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_no_tag() {
        assert_eq!(split_image("a"), ("a", None));
        assert_eq!(split_image("r:5000/a"), ("r:5000/a", None));
        assert_eq!(split_image("r:5000/a:v1"), ("r:5000/a", Some("v1")));
        assert_eq!(split_image("a@sha256:0f"), ("a@sha256", Some("0f")));
    }

    /// Asserts that `T` accepts (or refuses) each of `names`.
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
                "api",
                "kbr-runtime",
                "kbr-testing",
                "crdgen",
                "tokio",
                "kube",
                "fn",
                "test",
                "std",
                "build",
            ],
            false,
        );
        each::<ProjectName>(&["serde-json", "con"], false);
        each::<ProjectName>(&["a".repeat(28).as_str()], true);
        each::<ProjectName>(&["a".repeat(29).as_str()], false);
    }

    #[test]
    fn versions_have_the_form_of_the_api_conventions() {
        let conventional = ["v1", "v12", "v1alpha1", "v2beta3"];
        let others = [
            "v",
            "v0",
            "v01",
            "v-1",
            "v1gamma1",
            "v1alpha",
            "v1alpha0",
            "foo",
            "v1beta",
            "v1alpha1beta1",
            "v99999999999999",
            "match",
        ];
        each::<Version>(&conventional, true);
        each::<Version>(&others, true);
        each::<Version>(&["", "1", "v1.2", "V1", "v1-", "v1_a"], false);
        for name in conventional {
            assert!(Version::typed(name, &[]).is_ok(), "{name}");
        }
        for name in others {
            assert!(Version::typed(name, &[]).is_err(), "{name}");
            assert!(Version::typed(name, &[name.to_owned()]).is_ok(), "{name}");
        }
    }

    #[test]
    fn a_version_is_a_module_of_rust() {
        let mut modules = std::collections::BTreeSet::new();
        for version in ["v1", "match", "foo1", "lib", "external", "std", "a-b"] {
            let version: Version = version.parse().expect("a version");
            let module = version.module();
            let file: syn::File = syn::parse_str(&format!("mod {module};")).expect(&module);
            assert_eq!(file.items.len(), 1);
            assert!(modules.insert(module));
        }
        assert!(!modules.contains("lib") && !modules.contains("external"));
    }

    #[test]
    fn kinds_are_upper_camel_case_and_not_taken() {
        for (kind, type_name) in [
            ("CronJob", "CronJob"),
            ("HTTPProxy", "HTTPProxy"),
            ("A", "A"),
            ("Foo2", "Foo2"),
            ("postgresql", "Postgresql"),
            ("postgresThing", "PostgresThing"),
        ] {
            let parsed: Kind = kind.parse().expect(kind);
            assert_eq!(parsed.type_name(), type_name);
            let is_new = kind == type_name;
            assert_eq!(Kind::typed(kind, &[]).is_ok(), is_new, "{kind}");
            assert!(Kind::typed(kind, &[kind.to_owned()]).is_ok(), "{kind}");
            assert!(Kind::created(kind, &[]).is_ok(), "{kind}");
        }
        let known = ["Captain".to_owned()];
        for kind in ["captain", "captains", "CAPTAIN"] {
            let refused = Kind::created(kind, &known).map(|kind| kind.to_string());
            let is_new = kind == "CAPTAIN";
            assert_eq!(refused.is_ok(), is_new, "{kind}");
        }
        // Only what is wrong is named, not the conventions.
        for (kind, reason) in [
            (
                "result",
                "`result` cannot be a kind: it is in Rust's prelude",
            ),
            (
                "context",
                "`context` cannot be a kind: the emitted code uses that name",
            ),
            (
                "cron-job",
                "`cron-job` is not a kind: it must be of at most 59 letters and digits, and begin with a letter",
            ),
        ] {
            let refused = Kind::created(kind, &known).expect_err(kind);
            assert_eq!(refused.reason, reason);
        }
        each::<Kind>(
            &["", "Cron-Job", "Cron_Job", "2Foo", "Föö", "Foo Bar", "box"],
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
    fn a_groups_module_has_a_unique_name() {
        for (group, module) in [
            ("crew", "crew"),
            ("foo.policy", "foo_policy"),
            ("sea-creatures", "sea_creatures"),
            ("core", "core"),
            ("3d", "_3d"),
            // Keywords, crates, files of cargo and of the scaffold, devices, the operator itself.
            ("type", "type_"),
            ("std", "std_"),
            ("bin", "bin_"),
            ("kbr-runtime", "kbr_runtime_"),
            ("kbr-testing", "kbr_testing_"),
            ("manifests", "manifests_"),
            ("nul", "nul_"),
            ("my-operator", "my_operator_"),
        ] {
            assert_eq!(group_module(group, "my_operator"), module);
            let file: syn::File = syn::parse_str(&format!("mod {module};")).expect(module);
            assert_eq!(file.items.len(), 1);
        }
    }

    #[test]
    fn webhook_paths_are_those_that_the_api_server_accepts() {
        let longest = format!("/{}", "a".repeat(253));
        let paths = [
            "/a",
            "/mutate--v1-pod",
            "/a/b.c/d-e",
            "/convert/a",
            &longest,
        ];
        each::<WebhookPath>(&paths, true);
        let longer = longest.clone() + "a";
        each::<WebhookPath>(
            &[
                "", "/", "a", "//", "/a/", "/a//b", "/A", "/a_b", "/-a", "/a.", "/.", "/a b",
                "/a?b", "/a\nb", "/ü", "/{{a}}", "/\"", "/convert", &longer,
            ],
            false,
        );
    }

    #[test]
    fn images_are_those_that_a_container_runtime_pulls() {
        let digest = format!("a@sha256:{}", "0f".repeat(32));
        let both = format!("localhost:5000/a/b:1@sha512:{}", "0f".repeat(64));
        each::<ImageRef>(
            &[
                "a",
                "memcached:1.6.26-alpine",
                "library/memcached",
                "Example.com/a_b/c__d/e--f.g:V_1",
                "localhost/a",
                "10.0.0.1:5000/a",
                &digest,
                &both,
            ],
            true,
        );
        let long = "a".repeat(501);
        let tag = format!("a:{}", "1".repeat(129));
        each::<ImageRef>(
            &[
                "",
                ":",
                "a:",
                "a:-",
                "a b",
                "A",
                "a/B",
                "/a",
                "a/",
                "a//b",
                "a..b",
                "a___b",
                "-a",
                "a-",
                "a@",
                "a@sha256:0",
                "a@md5:0",
                "a:1:2",
                "https://a/b",
                "a\n",
                "a\"",
                "ü",
                "a.b:c/d",
                &long,
                &tag,
            ],
            false,
        );
    }

    #[test]
    fn types_of_other_crates_have_a_full_path() {
        each::<TypePath>(
            &["cert_manager::Certificate", "a::v1::B", "api::x::_y::Z9"],
            true,
        );
        each::<TypePath>(
            &[
                "",
                "Certificate",
                "::a::B",
                "a::",
                "a::b",
                "a:B",
                "crate::B",
                "self::B",
                "super::B",
                "a::fn::B",
                "a-b::C",
                "a::B<C>",
                "a::1::B",
                "a:: B",
                "a/b::C",
                "a::Self",
            ],
            false,
        );
    }

    #[test]
    fn crates_are_those_that_cargo_add_accepts() {
        each::<CrateSpec>(
            &[
                "a",
                "cert-manager",
                "a_b@1",
                "a@=1.2.3",
                "a@>=1, <2",
                "a@^1.0-rc.1",
            ],
            true,
        );
        each::<CrateSpec>(
            &[
                "",
                "@1",
                "a@",
                "-a",
                "--git",
                "a b",
                "a@1;b",
                "a@1\nb",
                "../a",
                "a/b",
                "1a",
                "ä",
                "https://a/b",
                "a@ ",
                "a@-x",
            ],
            false,
        );
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
            "`Foo_bar` is not a domain: it must be a DNS-1123 subdomain; \
             type `foo-bar`"
        );
    }
}
