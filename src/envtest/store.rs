//! The folder on disk: what is installed, and how it gets there and away.
//!
//! ```text
//! <data>/kubebuilder-envtest/k8s/1.36.2-linux-amd64/{etcd,kube-apiserver,kubectl}
//! <data>/kubebuilder-envtest/kbr.lock
//! <data>/kubebuilder-envtest/kbr-work-XXXXXX/    while a kbr is at work
//! ```
//!
//! setup-envtest looks only into `k8s/`, and considers a version installed as soon as its folder
//! exists there. So a version is made in a work folder of the same file system and gets its name by
//! renaming. Whoever writes holds the lock ([`Store::lock`]); reading needs none. A work folder that
//! exists while nobody holds the lock was left by a killed kbr.
//!
//! `<data>` is `$XDG_DATA_HOME` or `~/.local/share` on Linux, `~/Library/Application Support` on
//! macOS, `%LocalAppData%` on Windows. Source: `defaultStorePath` in
//! `kubernetes-sigs/controller-runtime:tools/setup-envtest/store/helpers.go`.

use std::env;
use std::fs::{self, File, Permissions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use tempfile::{Builder, TempDir};

use super::error::EnvtestError;
use super::{ASSETS, Binary, Platform, Selector, Version};
use crate::error::IoError;

/// How the name of a work folder begins.
const WORK: &str = "kbr-work-";

/// The folder that the user's environment names, if it names one.
pub fn assets() -> Option<PathBuf> {
    let path = env::var_os(ASSETS).filter(|path| !path.is_empty())?;
    Some(PathBuf::from(path))
}

/// Which of the binaries are in `folder`.
pub fn binaries_in(folder: &Path) -> Vec<Binary> {
    let mut binaries = Binary::ALL.to_vec();
    binaries.retain(|binary| folder.join(binary.file_name()).is_file());
    binaries
}

/// Which of `wanted` are not in `folder`.
pub fn missing_in(folder: &Path, wanted: &[Binary]) -> Vec<Binary> {
    let found = binaries_in(folder);
    let mut missing = wanted.to_vec();
    missing.retain(|binary| !found.contains(binary));
    missing
}

/// Whether two paths lead to one folder.
pub fn is_same(one: &Path, other: &Path) -> bool {
    let (one, other) = (fs::canonicalize(one), fs::canonicalize(other));
    matches!((one, other), (Ok(one), Ok(other)) if one == other)
}

/// A folder below `k8s/` that bears a version.
#[derive(Debug)]
pub struct Installed {
    pub version: Version,
    /// As the folder's name has it: the cache may hold what runs elsewhere.
    pub platform: String,
    pub folder: PathBuf,
}

/// The cache.
pub struct Store {
    root: PathBuf,
    platform: Platform,
}

impl Store {
    /// The user's own; nothing is created.
    pub fn open() -> Result<Self, EnvtestError> {
        let data = dirs::data_local_dir().ok_or(EnvtestError::NoHome)?;
        Ok(Self {
            root: data.join("kubebuilder-envtest"),
            platform: Platform::here(),
        })
    }

    /// The folder of all versions.
    pub fn versions_folder(&self) -> PathBuf {
        self.root.join("k8s")
    }

    pub fn folder(&self, version: Version) -> PathBuf {
        let name = format!("{version}-{}", self.platform);
        self.versions_folder().join(name)
    }

    /// Every version of every platform, newest first.
    pub fn installed(&self) -> Result<Vec<Installed>, IoError> {
        let mut installed = Vec::new();
        for (name, folder) in entries(&self.versions_folder())? {
            let Some((version, platform)) = name.split_once('-') else {
                continue;
            };
            if let Ok(version) = version.parse()
                && folder.is_dir()
            {
                installed.push(Installed {
                    version,
                    platform: platform.to_owned(),
                    folder,
                });
            }
        }
        installed.sort_by(|a, b| (b.version, &a.platform).cmp(&(a.version, &b.platform)));
        Ok(installed)
    }

    /// Those that run here and are asked for, newest first, complete or not.
    pub fn matching(&self, selector: Option<Selector>) -> Result<Vec<Installed>, IoError> {
        let platform = self.platform.to_string();
        let mut installed = self.installed()?;
        installed.retain(|found| {
            let is_wanted = selector.is_none_or(|selector| selector.matches(found.version));
            is_wanted && found.platform == platform
        });
        Ok(installed)
    }

    /// The newest that has all of `wanted`.
    pub fn complete(
        &self,
        selector: Selector,
        wanted: &[Binary],
    ) -> Result<Option<Installed>, IoError> {
        let mut found = self.matching(Some(selector))?.into_iter();
        Ok(found.find(|found| missing_in(&found.folder, wanted).is_empty()))
    }

    /// Waits until no other kbr writes here, and calls `waiting` with the lock's path first if one
    /// does.
    pub fn lock(&self, waiting: impl FnOnce(&Path)) -> Result<LockedStore<'_>, IoError> {
        fs::create_dir_all(&self.root).map_err(IoError::at("create", &self.root))?;
        let path = self.root.join("kbr.lock");
        let mut options = fs::OpenOptions::new();
        let options = options.write(true).create(true).truncate(false);
        let file = options.open(&path).map_err(IoError::at("open", &path))?;
        let locked = match file.try_lock() {
            Err(TryLockError::WouldBlock) => {
                waiting(&path);
                file.lock()
            }
            Err(TryLockError::Error(error)) => Err(error),
            Ok(()) => Ok(()),
        };
        locked.map_err(IoError::at("lock", path))?;
        Ok(LockedStore {
            store: self,
            _lock: file,
        })
    }
}

/// The lock for writing: it is released when this is dropped, or the process ends.
pub struct LockedStore<'a> {
    store: &'a Store,
    _lock: File,
}

impl LockedStore<'_> {
    /// Removes what killed kbrs left, and returns the paths.
    pub fn sweep(&self) -> Result<Vec<PathBuf>, IoError> {
        let mut left = Vec::new();
        for (name, path) in entries(&self.store.root)? {
            if name.starts_with(WORK) {
                fs::remove_dir_all(&path).map_err(IoError::at("remove", &path))?;
                left.push(path);
            }
        }
        Ok(left)
    }

    /// A new work folder, gone when it is dropped.
    pub fn work(&self) -> Result<Work, IoError> {
        let folder = Builder::new().prefix(WORK).tempdir_in(&self.store.root);
        Ok(Work {
            folder: folder.map_err(IoError::at("create a folder in", &self.store.root))?,
        })
    }

    /// Gives the finished binaries of `work` their place, and returns it.
    pub fn install(&self, version: Version, work: &Work) -> Result<PathBuf, IoError> {
        let (from, to) = (work.binaries()?, self.store.folder(version));
        let finished = entries(&from)?;
        for (_, path) in &finished {
            let file = File::open(path).and_then(|file| file.sync_all());
            file.map_err(IoError::at("write", path))?;
        }
        let folder = self.store.versions_folder();
        fs::create_dir_all(&folder).map_err(IoError::at("create", folder))?;
        if !to.exists() {
            fs::rename(&from, &to).map_err(IoError::at("create", &to))?;
            return Ok(to);
        }
        // setup-envtest makes its folders read-only, and may find them so again.
        let kept = make_writable(&to)?;
        for (name, path) in finished {
            let place = to.join(name);
            fs::rename(path, &place).map_err(IoError::at("create", place))?;
        }
        fs::set_permissions(&to, kept).map_err(IoError::at("write", &to))?;
        Ok(to)
    }

    /// Removes a version: renames it first, so that a half-removed folder never has its name.
    pub fn remove(&self, installed: &Installed) -> Result<(), IoError> {
        let work = self.work()?;
        let gone = work.path().join("removed");
        make_writable(&installed.folder)?;
        let removed = fs::rename(&installed.folder, &gone).and_then(|()| fs::remove_dir_all(gone));
        removed.map_err(IoError::at("remove", &installed.folder))
    }
}

/// A folder for what is not finished.
pub struct Work {
    folder: TempDir,
}

impl Work {
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The folder of what [`LockedStore::install`] installs.
    pub fn binaries(&self) -> Result<PathBuf, IoError> {
        self.create_folder("bin")
    }

    pub fn create_folder(&self, name: &str) -> Result<PathBuf, IoError> {
        let path = self.path().join(name);
        fs::create_dir_all(&path).map_err(IoError::at("create", &path))?;
        Ok(path)
    }

    pub fn write(&self, folder: &str, name: &str, text: &str) -> Result<(), IoError> {
        let path = self.create_folder(folder)?.join(name);
        fs::write(&path, text).map_err(IoError::at("write", path))
    }

    /// A new file to write and then to read, with its path for messages.
    pub fn file(&self, name: &str) -> Result<(File, PathBuf), IoError> {
        let path = self.path().join(name);
        let mut options = fs::OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(true);
        let file = options.open(&path).map_err(IoError::at("create", &path))?;
        Ok((file, path))
    }

    /// Writes a binary from what `content` gives.
    pub fn add(&self, binary: Binary, content: &mut dyn Read) -> Result<(), CopyError> {
        let path = self.binaries()?.join(binary.file_name());
        let mut file = File::create(&path).map_err(IoError::at("create", &path))?;
        copy(content, &mut file, &path, &mut |_| {})?;
        make_executable(&path)?;
        Ok(())
    }
}

/// Which side of a copy failed.
#[derive(Debug)]
pub enum CopyError {
    Read(io::Error),
    Write(IoError),
}

impl CopyError {
    /// One error of it, with what a failure to read means.
    pub fn or(self, read: impl FnOnce(io::Error) -> EnvtestError) -> EnvtestError {
        match self {
            Self::Read(error) => read(error),
            Self::Write(error) => error.into(),
        }
    }
}

impl From<IoError> for CopyError {
    fn from(error: IoError) -> Self {
        Self::Write(error)
    }
}

/// Copies everything to the file at `path`, and shows each piece.
pub fn copy(
    from: &mut dyn Read,
    to: &mut dyn Write,
    path: &Path,
    each: &mut dyn FnMut(&[u8]),
) -> Result<(), CopyError> {
    let mut buffer = vec![0; 128 * 1024];
    loop {
        let read = match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(CopyError::Read(error)),
        };
        to.write_all(&buffer[..read])
            .map_err(IoError::at("write", path))?;
        each(&buffer[..read]);
    }
}

pub fn read(path: &Path) -> Result<String, IoError> {
    fs::read_to_string(path).map_err(IoError::at("read", path))
}

/// Names and paths in `folder`; none if it does not exist.
fn entries(folder: &Path) -> Result<Vec<(String, PathBuf)>, IoError> {
    let found = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        found => found.map_err(IoError::at("read", folder))?,
    };
    let mut entries = Vec::new();
    for entry in found {
        let entry = entry.map_err(IoError::at("read", folder))?;
        entries.push((
            entry.file_name().to_string_lossy().into_owned(),
            entry.path(),
        ));
    }
    Ok(entries)
}

/// Lets the owner write in `folder`, and returns what it allowed before.
fn make_writable(folder: &Path) -> Result<Permissions, IoError> {
    let before = fs::metadata(folder).map_err(IoError::at("read", folder))?;
    let before = before.permissions();
    set_mode(folder, |mode| mode | 0o200)?;
    Ok(before)
}

fn make_executable(path: &Path) -> Result<(), IoError> {
    set_mode(path, |_| 0o755)
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: impl FnOnce(u32) -> u32) -> Result<(), IoError> {
    use std::os::unix::fs::PermissionsExt;
    let changed = fs::metadata(path).and_then(|metadata| {
        let mode = mode(metadata.permissions().mode());
        fs::set_permissions(path, Permissions::from_mode(mode))
    });
    changed.map_err(IoError::at("write", path))
}

/// Elsewhere a file is executable by its name, and a folder has no such mode.
#[cfg(not(unix))]
fn set_mode(_: &Path, _: impl FnOnce(u32) -> u32) -> Result<(), IoError> {
    Ok(())
}
