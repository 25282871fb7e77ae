//! kubectl, for clusters of the user's kubeconfig, and as kustomize.

use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::{KubectlError, bounded, environment};
use crate::error::IoError;
use crate::layout;

/// The oldest kubectl whose kustomize can do what a project needs.
const OLDEST: (u64, u64) = (1, 30);

/// A kubectl, which may be several words, such as `minikube kubectl --`.
struct Kubectl {
    program: PathBuf,
    words: Vec<String>,
}

impl Kubectl {
    /// The kubectl on the PATH.
    fn on_path() -> Self {
        Self::at("kubectl")
    }

    fn at(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            words: Vec::new(),
        }
    }

    /// What KUBECTL says, if it is set: a path, from the folder that kbr runs in, or words.
    fn chosen() -> Option<Self> {
        let value = environment::variable("KUBECTL", "");
        (!value.is_empty()).then(|| Self::of(&value.to_string_lossy()))
    }

    fn of(value: &str) -> Self {
        let (first, rest) = if Path::new(value).is_file() {
            (value, "")
        } else {
            let words = value.trim();
            words.split_once(char::is_whitespace).unwrap_or((words, ""))
        };
        let path = PathBuf::from(first);
        let has_folder = path.components().count() > 1;
        Self {
            // It runs in another folder.
            program: match std::path::absolute(&path) {
                Ok(absolute) if has_folder => absolute,
                _ => path,
            },
            words: rest.split_whitespace().map(str::to_owned).collect(),
        }
    }

    fn output(&self, folder: &Path, arguments: &[&str]) -> io::Result<Result<String, String>> {
        let mut command = Command::new(&self.program);
        command.args(&self.words).args(arguments);
        bounded::output(command.current_dir(folder))
    }

    /// The version of a kubectl that is older than kbr needs.
    fn too_old(&self, folder: &Path) -> Option<String> {
        let arguments = ["version", "--client", "--output=json"];
        let printed = self.output(folder, &arguments).ok()?.ok()?;
        let printed: Value = serde_json::from_str(&printed).ok()?;
        let version = printed["clientVersion"]["gitVersion"].as_str()?;
        let version = semver::Version::parse(version.trim_start_matches('v')).ok()?;
        ((version.major, version.minor) < OLDEST).then(|| version.to_string())
    }
}

/// As it was typed, more or less.
impl fmt::Display for Kubectl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = self.words.iter().map(|word| format!(" {word}"));
        write!(f, "{}{}", self.program.display(), words.collect::<String>())
    }
}

/// What kubectl prints in the folder `root` with these words, separated by spaces, and more arguments, or what it says
/// about its failure.
pub(crate) fn output(root: &Path, words: &str, more: &[&str]) -> Result<String, String> {
    let arguments: Vec<&str> = words.split(' ').chain(more.iter().copied()).collect();
    let kubectl = Kubectl::chosen().unwrap_or_else(Kubectl::on_path);
    let output = kubectl.output(root, &arguments);
    output.map_err(|error| format!("{kubectl}: {error}"))?
}

/// What `kubectl kustomize FOLDER` prints for a copy of `config/` of the project at `root` in which the file at `path` has
/// the text `text`. `fallback` is the kubectl to use if none is on the PATH.
pub(crate) fn kustomize(
    root: &Path,
    folder: &str,
    path: &str,
    text: &str,
    fallback: Option<&Path>,
) -> Result<String, KubectlError> {
    let copy = tempfile::tempdir().map_err(IoError::at("create", "a temporary folder"))?;
    // kubectl names files by their real paths.
    let real = fs::canonicalize(copy.path()).map_err(IoError::at("read", copy.path()))?;
    let real = copied(root, real)?;
    let changed = real.join(path);
    // The owner's may be read-only.
    let _ = fs::remove_file(&changed);
    fs::write(&changed, text).map_err(IoError::at("write", &changed))?;
    let arguments = ["kustomize", folder];
    let mut kubectl = Kubectl::chosen().unwrap_or_else(Kubectl::on_path);
    let mut output = kubectl.output(&real, &arguments);
    if let (None, Some(fallback), Err(error)) = (Kubectl::chosen(), fallback, &output)
        && error.kind() != io::ErrorKind::TimedOut
    {
        kubectl = Kubectl::at(fallback);
        output = kubectl.output(&real, &arguments);
    }
    let output = output.map_err(|source| KubectlError::Missing {
        program: kubectl.to_string(),
        source,
    })?;
    output.map_err(|reason| {
        let folder = folder.to_owned();
        let reason = innermost(&reason.replace(&format!("{}/", real.display()), ""));
        match kubectl.too_old(&real) {
            Some(version) => KubectlError::Old { version, reason },
            None => KubectlError::Kustomize { folder, reason },
        }
    })
}

/// What kubectl says is wrong, without what leads there.
fn innermost(reason: &str) -> String {
    // It repeats the way to the innermost kustomization.
    let inner = reason.rsplit_once("recursed accumulation of path ");
    let reason = inner.map_or(reason, |(_, reason)| reason);
    // A kubectl that another program starts writes a line of its log.
    let logged = reason.rsplit_once("\"command failed\" err=");
    let reason = logged.map_or(reason, |(_, reason)| reason);
    let reason = reason.trim().trim_matches(['"', '<', '>']).trim();
    reason.trim_start_matches("error: ").to_owned()
}

/// Copies `config/` of the project at `root` below the folder `to`, with links to everything else in its repository, which
/// may have what a kustomization refers to. Returns the project's folder there.
fn copied(root: &Path, mut to: PathBuf) -> Result<PathBuf, IoError> {
    let config = layout::CONFIG.trim_end_matches('/');
    let root = fs::canonicalize(root).map_err(IoError::at("read", root))?;
    let top = root.ancestors().find(|it| it.join(".git").exists());
    let mut from = top.unwrap_or(&root).to_owned();
    let below = root.strip_prefix(&from).unwrap_or(Path::new(""));
    for name in below {
        link_all(&from, &to, name)?;
        from.push(name);
        to.push(name);
        fs::create_dir(&to).map_err(IoError::at("create", &to))?;
    }
    link_all(&from, &to, config.as_ref())?;
    copy_folder(&from.join(config), &to.join(config))?;
    Ok(to)
}

/// Links everything in the folder `from`, except for one name, in the folder `to`.
fn link_all(from: &Path, to: &Path, except: &OsStr) -> Result<(), IoError> {
    for entry in fs::read_dir(from).map_err(IoError::at("read", from))? {
        let name = entry.map_err(IoError::at("read", from))?.file_name();
        if name != except {
            link(&from.join(&name), &to.join(&name))?;
        }
    }
    Ok(())
}

fn copy_folder(from: &Path, to: &Path) -> Result<(), IoError> {
    fs::create_dir_all(to).map_err(IoError::at("create", to))?;
    for entry in fs::read_dir(from).map_err(IoError::at("read", from))? {
        let entry = entry.map_err(IoError::at("read", from))?;
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().map_err(IoError::at("read", &path))?;
        if kind.is_dir() {
            copy_folder(&path, &to)?;
        } else if kind.is_symlink() {
            let target = fs::read_link(&path).map_err(IoError::at("read", &path))?;
            link(&target, &to)?;
        } else if kind.is_file() {
            // kubectl says what is wrong with a file if it needs it.
            let _ = fs::copy(&path, &to);
        }
    }
    Ok(())
}

/// Makes a link, where links need no permission of their own.
fn link(target: &Path, at: &Path) -> Result<(), IoError> {
    #[cfg(unix)]
    std::os::unix::fs::symlink(target, at).map_err(IoError::at("create", at))?;
    #[cfg(not(unix))]
    let _ = (target, at);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kubectl_may_be_words_or_a_path() {
        let file = tempfile::NamedTempFile::with_prefix("a kubectl").expect("a file");
        let path = file.path().to_str().expect("a path");
        let here = std::env::current_dir().expect("a folder");
        let here = here.to_str().expect("a path");
        for (value, expected) in [
            ("kubectl", "kubectl"),
            ("minikube kubectl --", "minikube kubectl --"),
            ("bin/kubectl", &*format!("{here}/bin/kubectl")),
            ("./bin/k  x", &*format!("{here}/bin/k x")),
            (path, path),
        ] {
            assert_eq!(Kubectl::of(value).to_string(), expected);
        }
    }

    #[cfg(unix)]
    #[test]
    fn an_old_kubectl_is_found_out() {
        let printing = |version: &str| Kubectl {
            program: "sh".into(),
            words: vec![
                "-c".to_owned(),
                format!("echo '{{\"clientVersion\":{{\"gitVersion\":\"{version}\"}}}}'"),
            ],
        };
        for (version, expected) in [
            ("v1.27.3", Some("1.27.3")),
            ("v1.30.0", None),
            ("v1.34.1-eks-113cf36", None),
            ("none", None),
        ] {
            let found = printing(version).too_old(Path::new("."));
            assert_eq!(found.as_deref(), expected);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_kustomization_may_refer_to_the_repository_around_the_project() {
        let repository = tempfile::tempdir().expect("a folder");
        let root = repository.path().join("operators/one");
        for folder in [
            ".git",
            "shared",
            "operators/two",
            "operators/one/config",
            "operators/one/src",
        ] {
            fs::create_dir_all(repository.path().join(folder)).expect("a folder");
        }
        for file in [
            "shared/a.yaml",
            "operators/two/b.yaml",
            "operators/one/config/c.yaml",
        ] {
            fs::write(repository.path().join(file), file).expect("a file");
        }
        let copy = tempfile::tempdir().expect("a folder");
        let project = copied(&root, copy.path().to_owned()).expect("a copy");
        assert_eq!(project, copy.path().join("operators/one"));
        for (path, text) in [
            ("../../shared/a.yaml", "shared/a.yaml"),
            ("../two/b.yaml", "operators/two/b.yaml"),
            ("config/c.yaml", "operators/one/config/c.yaml"),
        ] {
            assert_eq!(fs::read_to_string(project.join(path)).expect(path), text);
        }
        assert!(project.join("src").is_symlink());
        assert!(!project.join("config").is_symlink());
    }
}
