//! What the test targets share: a sandbox for each test, a temporary folder in which kbr runs; the golden projects; API
//! servers; and the reading of what kbr prints.
#![allow(dead_code, reason = "each target needs a part of it")]

pub mod api_server;
pub mod cluster;
pub mod crdgen;
pub mod documents;
pub mod fleet;
#[path = "../../src/fuzz/folder.rs"]
mod folder;
pub mod go_tool;
pub mod goldens;
pub mod helm;
pub mod port;
#[path = "../../src/fuzz/random.rs"]
#[allow(
    clippy::incompatible_msrv,
    reason = "the tests of the library share it, which need not build with an old compiler"
)]
pub mod random;
pub mod releases;
pub mod report;
pub mod running;
pub mod terminal;
pub mod types;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use serde_json::Value;
use snapbox::{Assert, IntoData};

/// The repository of kbr itself.
pub const REPOSITORY: &str = env!("CARGO_MANIFEST_DIR");

/// What kbr prints before it starts cargo, in a project without a folder `target`.
pub const COMPILING: &str =
    "   Compiling the API types with cargo, which takes minutes the first time\n";

/// A temporary folder that is deleted when the test ends.
pub struct Sandbox {
    folder: tempfile::TempDir,
}

impl Sandbox {
    pub fn new() -> Self {
        Self {
            folder: folder::folder(),
        }
    }

    /// A sandbox with a project in it, created only by `init`.
    pub fn with_project() -> Self {
        let sandbox = Self::new();
        sandbox
            .kbr("init --domain example.com --project-name sandbox")
            .success();
        sandbox
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Runs kbr with the arguments in `line`, which has no quotes.
    pub fn kbr(&self, line: &str) -> Run {
        self.run(&line.split_whitespace().collect::<Vec<_>>())
    }

    /// Runs kbr with arguments that may contain spaces, or be empty.
    pub fn run(&self, args: &[&str]) -> Run {
        kbr(self.path(), args)
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("the folder");
        fs::write(path, text).expect("the file");
    }

    /// Writes a module of the operator, which `src/lib.rs` declares.
    pub fn module(&self, name: &str, text: &str) {
        self.write(&format!("src/{name}.rs"), text);
        let (lib, line) = (self.read("src/lib.rs"), format!("mod {name};\n"));
        if !lib.contains(&line) {
            self.write("src/lib.rs", &format!("{lib}\n{line}"));
        }
    }

    pub fn remove(&self, path: &str) {
        fs::remove_file(self.path().join(path)).expect("the file is removed");
    }

    /// Replaces the only occurrence of `from`.
    pub fn edit(&self, path: &str, from: &str, to: &str) {
        let text = self.read(path);
        assert_eq!(text.matches(from).count(), 1, "{from:?} in {path}:\n{text}");
        self.write(path, &text.replace(from, to));
    }

    /// Adds a CRD to `config/crd` that is about a megabyte also when it is compressed.
    pub fn add_large_crd(&self) {
        let mut state = 1_u64;
        let mut noise = String::new();
        while noise.len() < 1_800_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            noise += &format!("{state:x}");
        }
        let crd = format!(
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: \
             larges.tests.example.com\nspec:\n  group: tests.example.com\n  description: {noise}\n"
        );
        let name = "bases/tests.example.com_large.yaml";
        self.write(&format!("config/crd/{name}"), &crd);
        let marker = "# +kbr:scaffold:crd-resources";
        let resource = format!("- {name}\n{marker}");
        self.edit("config/crd/kustomization.yaml", marker, &resource);
    }

    pub fn tree(&self) -> BTreeMap<String, String> {
        tree(self.path())
    }
}

/// Asserts that the text is the expected one. After a change of messages, `SNAPSHOTS=overwrite cargo test
/// --test it` rewrites each `str![]` of the tests.
#[track_caller]
pub fn said(text: &str, expected: impl IntoData) {
    Assert::new()
        .action_env("SNAPSHOTS")
        .eq(text, expected.into_data().raw());
}

/// The result of one run of kbr.
#[derive(Debug)]
pub struct Run {
    code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Run {
    pub fn code(&self) -> Option<i32> {
        self.code
    }

    #[track_caller]
    pub fn success(self) -> Self {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
        self
    }

    /// Asserts that the run was refused with that code, and printed nothing except the text that is returned.
    #[track_caller]
    pub fn refused_with(self, code: i32) -> String {
        assert_eq!(self.code, Some(code), "{}", self.stderr);
        assert_eq!(self.stdout, "");
        self.stderr
    }

    /// Asserts that the run was refused with that code and exactly that text, and printed nothing else.
    #[track_caller]
    pub fn refused(self, code: i32, stderr: impl IntoData) {
        said(&self.refused_with(code), stderr);
    }

    #[track_caller]
    pub fn failure(self) -> Self {
        assert_eq!(self.code, Some(1), "{}", self.stderr);
        self
    }

    /// The status lines as `Word path`, without their alignment.
    pub fn status(&self) -> Vec<String> {
        self.stderr
            .lines()
            .map(|line| line.trim().to_owned())
            .collect()
    }
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("UTF-8"),
        }
    }
}

/// Runs kbr in `folder`; everything it compiles goes to the tests' shared target directory.
pub fn kbr(folder: &Path, args: &[&str]) -> Run {
    if ["chart", "bundle"].iter().any(|it| args.contains(it)) {
        // They use its kubectl if there is no other.
        assets();
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_kbr"));
    command.args(args).current_dir(folder).stdin(Stdio::null());
    compiles_into(&mut command, &target());
    command.output().expect("kbr runs").into()
}

/// The version of Kubernetes for which k8s-openapi is compiled, in every project as in the crates' own folders.
pub const KUBERNETES: &str = "1.37";

/// Makes every cargo that `command` starts compile into that target directory, quickly: nobody debugs
/// these binaries, and no source changes between two builds. All compilations there must agree on this.
pub fn compiles_into(command: &mut Command, target: &Path) {
    command.env("CARGO_TARGET_DIR", target);
    // The crates set it in their own folders; where it changes, cargo compiles k8s-openapi and all above it again.
    command.env("K8S_OPENAPI_ENABLED_VERSION", KUBERNETES);
    command.env("CARGO_INCREMENTAL", "0");
    command.env("CARGO_PROFILE_DEV_DEBUG", "0");
    without_package(command);
}

/// Removes the variables that cargo sets for kbr's own package, which a user's shell does not have.
///
/// Build scripts read them: each cargo that finds them changed compiles most dependencies again, and the
/// proof of `make test-rbac` removes them when it runs cargo.
pub fn without_package(command: &mut Command) {
    for (variable, _) in std::env::vars_os() {
        let text = variable.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(variable);
        }
    }
}

/// Runs git in the sandbox, whatever the user has configured.
pub fn try_git(sandbox: &Sandbox, line: &str) -> Output {
    let mut git = Command::new("git");
    git.env("GIT_CONFIG_GLOBAL", "/dev/null");
    git.env("GIT_CONFIG_NOSYSTEM", "1");
    git.args(["-c", "user.name=x", "-c", "user.email=x@example.com"]);
    git.args(line.split_whitespace())
        .current_dir(sandbox.path());
    git.output().expect("git runs")
}

#[track_caller]
pub fn git(sandbox: &Sandbox, line: &str) -> String {
    let output = try_git(sandbox, line);
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8(text).expect("UTF-8");
    assert!(output.status.success(), "git {line}: {text}");
    text
}

#[track_caller]
pub fn commit(sandbox: &Sandbox) {
    git(sandbox, "add --all");
    git(sandbox, "commit -m x");
}

/// Runs cargo in `folder` with the tests' shared target directory, and shows its progress.
pub fn cargo(folder: &Path, line: &str) -> bool {
    cargo_into(folder, line, &target())
}

/// Tests of an emitted project find the binaries of their API server, whatever is installed.
pub fn cargo_into(folder: &Path, line: &str, target: &Path) -> bool {
    let mut command = Command::new("cargo");
    command.args(line.split_whitespace()).current_dir(folder);
    command.stdin(Stdio::null());
    compiles_into(&mut command, target);
    if line.starts_with("test ") {
        command.env("KUBEBUILDER_ASSETS", assets());
        // They wait for servers more than they compute.
        command.env("RUST_TEST_THREADS", "8");
    }
    command.status().expect("cargo runs").success()
}

/// The folder of etcd, kube-apiserver, kubectl and kube-controller-manager.
///
/// It is the folder in KUBEBUILDER_ASSETS, or else kbr provides it. The first time that takes
/// ten minutes and needs Go; its progress is shown.
pub fn assets() -> &'static Path {
    static ASSETS: OnceLock<PathBuf> = OnceLock::new();
    ASSETS.get_or_init(|| {
        let envtest = |args: &[&str]| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_kbr"));
            command.arg("envtest").args(args).stderr(Stdio::inherit());
            let output = command.output().expect("kbr runs");
            assert!(
                output.status.success(),
                "no API server to test with: `kbr envtest {}` says why",
                args.join(" ")
            );
            String::from_utf8(output.stdout).expect("UTF-8")
        };
        envtest(&["use", "--with-controller-manager"]);
        let folder = envtest(&["path"]);
        std::path::absolute(folder.trim_end_matches('\n')).expect("a path")
    })
}

/// The objects that kustomize builds from `config/default`.
pub fn kustomize(project: &Sandbox) -> Vec<Value> {
    kustomize_in(project, "config/default")
}

/// The objects that kustomize builds from a folder.
pub fn kustomize_in(project: &Sandbox, folder: &str) -> Vec<Value> {
    let output = Command::new(assets().join("kubectl"))
        .args(["kustomize", folder])
        .current_dir(project.path())
        .output()
        .expect("kubectl runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && stderr.is_empty(), "{stderr}");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    serde_saphyr::from_multiple(&text).expect("YAML")
}

/// Held by the test that compiles.
pub struct Compiling {
    /// The lock is released when the file is closed, before another test of this process tries it.
    _between_processes: File,
    _in_process: MutexGuard<'static, ()>,
}

/// Only one test at a time may compile, also of other targets: all projects of the tests share one target directory, in
/// which cargo puts every `crdgen` at the same path.
pub fn compiling() -> Compiling {
    static COMPILING: Mutex<()> = Mutex::new(());
    let in_process = COMPILING.lock().unwrap_or_else(PoisonError::into_inner);
    fs::create_dir_all(target()).expect("the target directory");
    let lock = File::create(target().join("tests.lock")).expect("the file of the lock");
    if lock.try_lock().is_err() {
        say("Waiting for the tests of another process, which compile in target/emitted");
        lock.lock().expect("the lock");
    }
    Compiling {
        _in_process: in_process,
        _between_processes: lock,
    }
}

/// Prints what a test does that takes long; what else a test prints is shown only if it fails.
pub fn say(text: &str) {
    random::say(&format!("{text}\n"));
}

/// The target directory of every project that the tests compile.
pub fn target() -> PathBuf {
    Path::new(REPOSITORY).join("target/emitted")
}

/// Every file below `folder`, by its path, and every empty folder, by its path and a slash;
/// `target` folders are skipped.
pub fn tree(folder: &Path) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    walk(folder, "", &mut files);
    files
}

fn walk(folder: &Path, prefix: &str, files: &mut BTreeMap<String, String>) {
    let mut is_empty = true;
    for entry in
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
    {
        let entry = entry.expect("an entry");
        is_empty = false;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let path = entry.path();
        if path.is_symlink() {
            let target = fs::read_link(&path).expect("a link");
            files.insert(name, format!("-> {}", target.display()));
        } else if path.is_dir() {
            if entry.file_name() != "target" {
                walk(&path, &format!("{name}/"), files);
            }
        } else {
            files.insert(
                name,
                String::from_utf8_lossy(&fs::read(&path).expect("a file")).into_owned(),
            );
        }
    }
    if is_empty {
        files.insert(prefix.to_owned(), String::new());
    }
}

/// Asserts that two trees are the same, byte for byte.
#[track_caller]
pub fn assert_same(expected: &BTreeMap<String, String>, actual: &BTreeMap<String, String>) {
    let differences = differences(expected, actual);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// The differences between two trees in both directions, one per line.
pub fn differences(
    expected: &BTreeMap<String, String>,
    actual: &BTreeMap<String, String>,
) -> Vec<String> {
    let paths: std::collections::BTreeSet<&String> = expected.keys().chain(actual.keys()).collect();
    let describe = |path: &String| match (expected.get(path), actual.get(path)) {
        (Some(expected), Some(actual)) if expected == actual => None,
        (Some(expected), Some(actual)) => Some(first_difference(path, expected, actual)),
        (Some(_), None) => Some(format!("{path} is missing")),
        (None, _) => Some(format!("{path} is unexpected")),
    };
    paths.into_iter().filter_map(describe).collect()
}

fn first_difference(path: &str, expected: &str, actual: &str) -> String {
    let (mut left, mut right) = (expected.lines(), actual.lines());
    for number in 1.. {
        let (left, right) = (left.next(), right.next());
        if left != right || left.is_none() {
            return format!("{path}:{number}: expected {left:?}, found {right:?}");
        }
    }
    unreachable!("the loop ends with the shorter text")
}

/// Asserts that the user's Rust files are formatted; the vendored crates are checked by their own tests.
#[track_caller]
pub fn assert_formatted(sandbox: &Sandbox) {
    let files: Vec<PathBuf> = sandbox
        .tree()
        .into_keys()
        .filter(|path| path.ends_with(".rs") && !path.starts_with("third_party/"))
        .map(|path| sandbox.path().join(path))
        .collect();
    let output = Command::new("rustfmt")
        .args(["--check", "--edition", "2024"])
        .args(files)
        .output()
        .expect("rustfmt runs");
    let text = [output.stdout, output.stderr].concat();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&text)
    );
}

/// The names in a folder, sorted.
pub fn names(folder: &Path) -> Vec<String> {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let name = |entry: std::io::Result<fs::DirEntry>| {
        entry
            .expect("an entry")
            .file_name()
            .to_string_lossy()
            .into_owned()
    };
    let mut names: Vec<String> = entries.map(name).collect();
    names.sort();
    names
}

/// Copies every file of `from` over `to`, and every link as a link.
pub fn copy(from: &Path, to: &Path) {
    for (path, _) in tree(from).iter().filter(|(path, _)| !path.ends_with('/')) {
        let (source, destination) = (from.join(path), to.join(path));
        fs::create_dir_all(destination.parent().expect("a folder")).expect("the folder");
        if source.is_symlink() {
            let target = fs::read_link(&source).expect("a link");
            symlink(target, destination).expect("the link");
        } else {
            fs::copy(source, destination).expect("the copy");
        }
    }
}

/// Go's name for the platform that runs the tests.
pub fn platform() -> String {
    let arch = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("linux-{arch}")
}
