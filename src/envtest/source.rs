//! The other source: how Go builds the same binaries from the module `k8s.io/kubernetes`.
//!
//! That module is not a library: it takes its staging modules (`k8s.io/api`, `k8s.io/client-go`…)
//! from its own folders, as `v0.0.0`. The same modules are also released separately, as `v0.37.2` for
//! 1.37.2. So kbr writes a module that requires Kubernetes and each staging module, and builds
//! Kubernetes' commands from there. The list of staging modules and the versions of etcd and Go are
//! read from Kubernetes' own `go.mod`. This file is pure.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::error::EnvtestError;
use super::{Binary, Minor, Platform, Selector, Version};

/// For each minor, a patch release that can be built: Go's module proxy and checksum database have it
/// and all its staging modules. They are not queried for the newest one, since their lists have gaps.
/// Source: `go list -mod=mod -m all` with the `go.mod` that [`Recipe::modules`] gives.
const KNOWN: [&str; 8] = [
    "1.30.0", "1.31.12", "1.32.0", "1.33.4", "1.34.3", "1.35.8", "1.36.2", "1.37.2",
];

/// Returns the version to build where no index says which one is the newest.
pub(crate) fn newest(selector: Selector) -> Result<Version, EnvtestError> {
    let Selector { minor, patch } = selector;
    if let Some(patch) = patch {
        return Ok(Version { minor, patch });
    }
    let mut known = KNOWN.iter().filter_map(|version| version.parse().ok());
    let found = known.find(|version| selector.matches(*version));
    found.ok_or(EnvtestError::UnknownPatch { minor })
}

/// The folder of the module that requires Kubernetes, in the work folder.
pub(crate) const KUBERNETES: &str = "kubernetes";

/// The folder of the module that requires etcd.
pub(super) const ETCD: &str = "etcd";

/// The folder for Go's temporary files, which must exist.
pub(crate) const TEMPORARY: &str = "tmp";

/// The variables that override the user's environment for a build in `work`: Go writes only to that
/// folder, and the user's settings do not change what is built. GOPROXY, GOSUMDB and GOTOOLCHAIN keep
/// the user's values.
pub(crate) fn environment(work: &Path, platform: &Platform) -> Vec<(&'static str, OsString)> {
    let folder = |name: &str| work.join(name).into_os_string();
    vec![
        ("GOPATH", folder("path")),
        ("GOMODCACHE", folder("modules")),
        ("GOCACHE", folder("cache")),
        ("GOTMPDIR", folder(TEMPORARY)),
        // Otherwise the modules' folders are read-only, and the work folder cannot be removed.
        ("GOFLAGS", "-modcacherw".into()),
        ("GO111MODULE", "on".into()),
        ("GOWORK", "off".into()),
        ("CGO_ENABLED", "0".into()),
        ("GOOS", platform.os.into()),
        ("GOARCH", platform.arch.into()),
    ]
}

/// What `go env -json GOVERSION GOTOOLCHAIN` prints.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Go {
    #[serde(rename = "GOVERSION")]
    version: String,
    /// Empty before Go 1.21, which cannot fetch another one.
    #[serde(rename = "GOTOOLCHAIN")]
    toolchain: String,
}

impl Go {
    /// Checks that this Go can build `recipe`, or fetch a Go that can.
    pub(crate) fn check(self, recipe: &Recipe) -> Result<(), EnvtestError> {
        let is_enough = numbers(&self.version) >= numbers(&recipe.go);
        let may_switch = ["auto", "path"]
            .iter()
            .any(|word| self.toolchain.ends_with(word));
        if is_enough || may_switch {
            return Ok(());
        }
        Err(EnvtestError::GoTooOld {
            version: recipe.version,
            needed: recipe.go.clone(),
            found: self.version.trim_start_matches("go").to_owned(),
            toolchain: self.toolchain,
        })
    }
}

/// The numbers in a Go version: `go1.26.8`, `1.26.0`, `go1.27rc1`, `devel go1.27-1f2e3d`.
fn numbers(version: &str) -> Vec<u32> {
    let after_go = version.rsplit("go").next().unwrap_or_default();
    let is_other = |c: char| !c.is_ascii_digit() && c != '.';
    let digits = after_go.split(is_other).next();
    let numbers = digits.unwrap_or_default().split('.');
    numbers.filter_map(|number| number.parse().ok()).collect()
}

/// What `go mod download -json` prints; it has the file even if Go is too old for the module.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub(crate) struct Downloaded {
    pub(crate) go_mod: Option<PathBuf>,
    pub(crate) error: Option<String>,
}

/// What Kubernetes' own `go.mod` says about building it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Recipe {
    version: Version,
    /// The oldest Go that can build it, such as `1.26.0`.
    go: String,
    staging: Vec<String>,
    /// The version of etcd whose client the API server is built with, such as `v3.6.8`.
    etcd: String,
}

impl Recipe {
    pub(crate) fn parse(version: Version, go_mod: &str) -> Result<Self, EnvtestError> {
        let lacks = |lacks| EnvtestError::GoMod { version, lacks };
        let mut pairs = BTreeMap::new();
        for line in go_mod.lines() {
            let mut words = line.split_whitespace().filter(|word| *word != "require");
            if let (Some(name), Some(value)) = (words.next(), words.next()) {
                pairs.entry(name).or_insert(value);
            }
        }
        let go = pairs.get("go").ok_or_else(|| lacks("line `go`"))?;
        let client = pairs.get("go.etcd.io/etcd/api/v3");
        let etcd = client.ok_or_else(|| lacks("module `go.etcd.io/etcd/api/v3`"))?;
        let is_staging =
            |(name, value): &(&&str, &&str)| name.starts_with("k8s.io/") && **value == "v0.0.0";
        let staging: Vec<String> = pairs
            .iter()
            .filter(is_staging)
            .map(|(name, _)| (*name).to_owned())
            .collect();
        if staging.is_empty() {
            return Err(lacks("staging modules"));
        }
        Ok(Self {
            version,
            go: (*go).to_owned(),
            staging,
            etcd: (*etcd).to_owned(),
        })
    }

    /// The `go.mod` of each module that kbr builds from, by folder.
    pub(crate) fn modules(&self) -> [(&'static str, String); 2] {
        let (go, version, etcd) = (&self.go, self.version, &self.etcd);
        let Version { minor, patch } = version;
        let names = self.staging.iter();
        let staging = names.map(|name| format!("\t{name} v0.{}.{patch}\n", minor.minor));
        let kubernetes = format!(
            "\tk8s.io/kubernetes v{version}\n{}",
            staging.collect::<String>()
        );
        let server = format!("\tgo.etcd.io/etcd/server/v3 {etcd}\n");
        [(KUBERNETES, kubernetes), (ETCD, server)].map(|(folder, required)| {
            let head = empty_module(folder);
            (
                folder,
                format!("{head}\ngo {go}\n\nrequire (\n{required})\n"),
            )
        })
    }

    /// How to build `binary` into `to`: the module's folder, and the arguments of `go`.
    pub(crate) fn build(&self, binary: Binary, to: &Path) -> (&'static str, Vec<OsString>) {
        let (folder, stamp) = match binary {
            Binary::ETCD => (ETCD, String::new()),
            _ => (KUBERNETES, self.stamp()),
        };
        let mut args: Vec<OsString> = ["build", "-v", "-mod=mod", "-trimpath", "-ldflags"]
            .map(OsString::from)
            .to_vec();
        args.push(format!("-s -w{stamp}").into());
        args.push("-o".into());
        args.push(to.join(binary.file_name()).into_os_string());
        args.push(package(binary).into());
        (folder, args)
    }

    /// The version that a binary reports.
    pub(crate) fn label(&self, binary: Binary) -> String {
        match binary {
            Binary::ETCD => self.etcd.clone(),
            _ => format!("v{}", self.version),
        }
    }

    /// Linker flags that set the version, which a script does in Kubernetes' own build. They contain
    /// no build time: the same sources give the same bytes.
    fn stamp(&self) -> String {
        let Minor { major, minor } = self.version.minor;
        let stamps = [
            ("gitVersion", format!("v{}", self.version)),
            ("gitMajor", major.to_string()),
            ("gitMinor", minor.to_string()),
            ("gitTreeState", "clean".to_owned()),
            ("buildDate", "1970-01-01T00:00:00Z".to_owned()),
        ];
        let flag = |(name, value)| format!(" -X k8s.io/component-base/version.{name}={value}");
        stamps.map(flag).concat()
    }
}

/// The main package of `binary`.
pub(crate) fn package(binary: Binary) -> String {
    match binary {
        Binary::ETCD => "go.etcd.io/etcd/server/v3".to_owned(),
        _ => format!("k8s.io/kubernetes/cmd/{}", binary.0),
    }
}

/// A `go.mod` without requirements: Go needs one in the folder that it runs in.
pub(crate) fn empty_module(folder: &str) -> String {
    format!("module kbr.example/{folder}\n")
}

/// Whether a line of Go's output reports progress, and not an error: a package that is built, a module
/// that is downloaded.
pub(crate) fn is_progress(line: &str) -> bool {
    !line.contains(' ') || line.starts_with("go: downloading ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const GO_MOD: &str = "module k8s.io/kubernetes\n\ngo 1.26.0\n\ngodebug default=go1.26\n\n\
        require (\n\tgo.etcd.io/etcd/api/v3 v3.6.8\n\tk8s.io/api v0.0.0\n\tk8s.io/klog/v2 v2.140.0\n\
        \tk8s.io/client-go v0.0.0 // indirect\n)\n\nrequire k8s.io/metrics v0.0.0\n\n\
        replace (\n\tk8s.io/api => ./staging/src/k8s.io/api\n)\n";

    fn recipe() -> Recipe {
        let version = "1.37.2".parse().expect("a version");
        Recipe::parse(version, GO_MOD).expect("a recipe")
    }

    #[test]
    fn the_modules_pin_the_staging_modules_of_kubernetes() {
        let [(_, kubernetes), (_, etcd)] = recipe().modules();
        assert_eq!(
            kubernetes,
            "module kbr.example/kubernetes\n\ngo 1.26.0\n\nrequire (\n\tk8s.io/kubernetes v1.37.2\n\
             \tk8s.io/api v0.37.2\n\tk8s.io/client-go v0.37.2\n\tk8s.io/metrics v0.37.2\n)\n"
        );
        assert_eq!(
            etcd,
            "module kbr.example/etcd\n\ngo 1.26.0\n\nrequire (\n\tgo.etcd.io/etcd/server/v3 v3.6.8\n)\n"
        );
    }

    #[test]
    fn a_binary_is_stamped_with_its_version() {
        let (folder, args) = recipe().build(Binary("kubectl"), Path::new("out"));
        let args: Vec<_> = args.iter().map(|arg| arg.to_string_lossy()).collect();
        assert_eq!(folder, "kubernetes");
        assert_eq!(
            args.join(" "),
            "build -v -mod=mod -trimpath -ldflags -s -w \
             -X k8s.io/component-base/version.gitVersion=v1.37.2 \
             -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=37 \
             -X k8s.io/component-base/version.gitTreeState=clean \
             -X k8s.io/component-base/version.buildDate=1970-01-01T00:00:00Z \
             -o out/kubectl k8s.io/kubernetes/cmd/kubectl"
        );
        assert_eq!(recipe().label(Binary::ETCD), "v3.6.8");
    }

    #[test]
    fn a_go_mod_of_another_form_is_refused() {
        let version = "1.37.2".parse().expect("a version");
        for (cut, text) in [
            ("go 1.26.0\n", "it has no line `go`"),
            (
                "go.etcd.io/etcd/api/v3",
                "it has no module `go.etcd.io/etcd/api/v3`",
            ),
            ("v0.0.0", "it has no staging modules"),
        ] {
            let error = Recipe::parse(version, &GO_MOD.replace(cut, "")).expect_err(cut);
            assert!(error.to_string().ends_with(text), "{error}");
        }
    }

    #[test]
    fn a_go_is_new_enough_or_can_fetch_one_that_is() {
        for (version, toolchain, is_enough) in [
            ("go1.26.0", "local", true),
            ("go1.26", "local", false),
            ("go1.27rc1", "local", true),
            ("go1.100.0", "local", true),
            ("devel go1.27-1f2e3d", "local", true),
            ("go1.25.9", "local", false),
            ("go1.25.9", "go1.25.9", false),
            ("go1.25.9", "auto", true),
            ("go1.25.9", "go1.25.9+auto", true),
            ("go1.25.9", "path", true),
            ("go1.20", "", false),
            ("", "", false),
        ] {
            let go = Go {
                version: version.to_owned(),
                toolchain: toolchain.to_owned(),
            };
            assert_eq!(
                go.check(&recipe()).is_ok(),
                is_enough,
                "{version} {toolchain}"
            );
        }
    }

    #[test]
    fn the_table_has_each_minor_once_and_the_default() {
        let known = KNOWN.map(|version| version.parse::<Version>().expect(version));
        assert!(known.is_sorted_by(|one, next| one.minor < next.minor));
        assert!(newest(Selector::default()).is_ok());
        assert!(newest("1.29".parse().expect("a minor")).is_err());
        let exact = "1.29.14".parse().expect("a version");
        assert_eq!(
            newest(exact).map(|version| version.to_string()).ok(),
            Some("1.29.14".to_owned())
        );
    }
}
