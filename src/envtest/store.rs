//! The folder on disk: what is installed, and how it is installed and removed.
//!
//! ```text
//! <data>/kubebuilder-envtest/k8s/1.37.2-linux-amd64/{etcd,kube-apiserver,kubectl}
//! <data>/kubebuilder-envtest/kbr.lock
//! <data>/kubebuilder-envtest/kbr-work-XXXXXX/    while kbr is running
//! ```
//!
//! setup-envtest looks only at `k8s/`, and considers a version installed as soon as its folder exists.
//! So kbr assembles a version in a work folder on the same file system, and renames it when it is
//! finished. A writer holds the lock ([`Store::lock`]); a reader needs none. A work folder that exists
//! while nobody holds the lock was left by a killed kbr.
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

/// The prefix of a work folder's name.
const WORK: &str = "kbr-work-";

/// The folder in [`ASSETS`] of the user's environment, if it is set.
pub(crate) fn assets() -> Option<PathBuf> {
    let path = env::var_os(ASSETS).filter(|it| !it.is_empty())?;
    Some(PathBuf::from(path))
}

/// A kubectl: that of the user's environment, or the newest one in the cache.
pub(crate) fn kubectl() -> Option<PathBuf> {
    let cached = || Store::open().and_then(|store| Ok(store.matching(None)?));
    let cached = cached().unwrap_or_default().into_iter();
    let folders = assets().into_iter().chain(cached.map(|it| it.folder));
    let mut paths = folders.map(|folder| folder.join(Binary("kubectl").file_name()));
    paths.find(|path| path.is_file())
}

/// Which of the binaries are in `folder`.
pub(crate) fn binaries_in(folder: &Path) -> Vec<Binary> {
    let mut binaries = Binary::ALL.to_vec();
    binaries.retain(|binary| folder.join(binary.file_name()).is_file());
    binaries
}

/// Which of `wanted` are not in `folder`.
pub(crate) fn missing_in(folder: &Path, wanted: &[Binary]) -> Vec<Binary> {
    let mut missing = wanted.to_vec();
    missing.retain(|binary| !folder.join(binary.file_name()).is_file());
    missing
}

/// Whether two paths refer to the same folder.
pub(crate) fn is_same(one: &Path, other: &Path) -> bool {
    let (one, other) = (fs::canonicalize(one), fs::canonicalize(other));
    matches!((one, other), (Ok(one), Ok(other)) if one == other)
}

/// A version's folder below `k8s/`.
#[derive(Debug)]
pub(crate) struct Installed {
    pub(crate) version: Version,
    /// As in the folder's name: the cache may have binaries for other platforms.
    pub(crate) platform: String,
    pub(crate) folder: PathBuf,
}

/// The cache.
pub(crate) struct Store {
    root: PathBuf,
    platform: Platform,
}

impl Store {
    /// The user's cache; creates nothing.
    pub(crate) fn open() -> Result<Self, EnvtestError> {
        let data = dirs::data_local_dir().ok_or(EnvtestError::NoHome)?;
        Ok(Self {
            root: data.join("kubebuilder-envtest"),
            platform: Platform::here(),
        })
    }

    /// The folder of all versions.
    pub(crate) fn versions_folder(&self) -> PathBuf {
        self.root.join("k8s")
    }

    pub(crate) fn folder(&self, version: Version) -> PathBuf {
        let name = format!("{version}-{}", self.platform);
        self.versions_folder().join(name)
    }

    /// Every version of every platform, newest first.
    pub(crate) fn installed(&self) -> Result<Vec<Installed>, IoError> {
        let folders = entries(&self.versions_folder())?.into_iter();
        let found = folders.filter_map(|(name, folder)| {
            let (version, platform) = name.split_once('-')?;
            let (version, platform) = (version.parse().ok()?, platform.to_owned());
            folder.is_dir().then_some(Installed {
                version,
                platform,
                folder,
            })
        });
        let mut installed: Vec<Installed> = found.collect();
        installed.sort_by(|a, b| (b.version, &a.platform).cmp(&(a.version, &b.platform)));
        Ok(installed)
    }

    /// Every version for this platform that matches `selector`, newest first, complete or not.
    pub(crate) fn matching(&self, selector: Option<Selector>) -> Result<Vec<Installed>, IoError> {
        let platform = self.platform.to_string();
        let mut installed = self.installed()?;
        installed.retain(|found| {
            let is_wanted = selector.is_none_or(|selector| selector.matches(found.version));
            is_wanted && found.platform == platform
        });
        Ok(installed)
    }

    /// The newest matching version that has all `wanted` binaries.
    pub(crate) fn complete(
        &self,
        selector: Selector,
        wanted: &[Binary],
    ) -> Result<Option<Installed>, IoError> {
        let mut found = self.matching(Some(selector))?.into_iter();
        Ok(found.find(|found| missing_in(&found.folder, wanted).is_empty()))
    }

    /// Takes the lock for writing. If another kbr holds it, calls `waiting` with the lock's path, and
    /// waits.
    pub(crate) fn lock(&self, waiting: impl FnOnce(&Path)) -> Result<LockedStore<'_>, IoError> {
        fs::create_dir_all(&self.root).map_err(IoError::at("create", &self.root))?;
        let path = self.root.join("kbr.lock");
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(false);
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
pub(crate) struct LockedStore<'a> {
    store: &'a Store,
    _lock: File,
}

impl LockedStore<'_> {
    /// Removes the work folders of killed kbr processes, and returns their paths.
    pub(crate) fn sweep(&self) -> Result<Vec<PathBuf>, IoError> {
        let mut left = Vec::new();
        for (name, path) in entries(&self.store.root)? {
            if name.starts_with(WORK) {
                fs::remove_dir_all(&path).map_err(IoError::at("remove", &path))?;
                left.push(path);
            }
        }
        Ok(left)
    }

    /// Creates a work folder, which is removed when it is dropped.
    pub(crate) fn work(&self) -> Result<Work, IoError> {
        let folder = Builder::new().prefix(WORK).tempdir_in(&self.store.root);
        Ok(Work {
            folder: folder.map_err(IoError::at("create a folder in", &self.store.root))?,
        })
    }

    /// Moves the finished binaries of `work` to the version's folder, and returns that folder.
    pub(crate) fn install(&self, version: Version, work: &Work) -> Result<PathBuf, IoError> {
        let (from, to) = (work.binaries()?, self.store.folder(version));
        let finished = entries(&from)?;
        for (_, path) in &finished {
            let synced = File::open(path).and_then(|file| file.sync_all());
            synced.map_err(IoError::at("write", path))?;
        }
        let folder = self.store.versions_folder();
        fs::create_dir_all(&folder).map_err(IoError::at("create", folder))?;
        if !to.exists() {
            fs::rename(&from, &to).map_err(IoError::at("create", &to))?;
            return Ok(to);
        }
        // setup-envtest makes its folders read-only, so the mode is restored afterwards.
        let kept = make_writable(&to)?;
        for (name, path) in finished {
            let place = to.join(name);
            fs::rename(path, &place).map_err(IoError::at("create", place))?;
        }
        fs::set_permissions(&to, kept).map_err(IoError::at("write", &to))?;
        Ok(to)
    }

    /// Removes a version. Renames it first, so that a half-removed folder never has its name.
    pub(crate) fn remove(&self, installed: &Installed) -> Result<(), IoError> {
        let work = self.work()?;
        let trash = work.path().join("removed");
        make_writable(&installed.folder)?;
        let renamed = fs::rename(&installed.folder, &trash);
        let removed = renamed.and_then(|()| fs::remove_dir_all(trash));
        removed.map_err(IoError::at("remove", &installed.folder))
    }
}

/// A folder for unfinished work.
pub(crate) struct Work {
    folder: TempDir,
}

impl Work {
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The folder of the binaries that [`LockedStore::install`] installs.
    pub(crate) fn binaries(&self) -> Result<PathBuf, IoError> {
        self.create_folder("bin")
    }

    pub(crate) fn create_folder(&self, name: &str) -> Result<PathBuf, IoError> {
        let path = self.path().join(name);
        fs::create_dir_all(&path).map_err(IoError::at("create", &path))?;
        Ok(path)
    }

    pub(crate) fn write(&self, folder: &str, name: &str, text: &str) -> Result<(), IoError> {
        let path = self.create_folder(folder)?.join(name);
        fs::write(&path, text).map_err(IoError::at("write", path))
    }

    /// Creates a file for writing and then reading, and returns its path too, for messages.
    pub(crate) fn file(&self, name: &str) -> Result<(File, PathBuf), IoError> {
        let path = self.path().join(name);
        let file = File::create_new(&path).map_err(IoError::at("create", &path))?;
        Ok((file, path))
    }

    /// Writes `content` as a binary; `unreadable` converts a failure to read it.
    pub(crate) fn add(
        &self,
        binary: Binary,
        content: &mut dyn Read,
        unreadable: impl FnOnce(io::Error) -> EnvtestError,
    ) -> Result<(), EnvtestError> {
        let path = self.binaries()?.join(binary.file_name());
        let mut file = File::create(&path).map_err(IoError::at("create", &path))?;
        copy(content, &mut file, &path, unreadable, &mut |_| {})?;
        Ok(set_mode(&path, |_| 0o755)?)
    }
}

/// Copies everything to the file at `path`, and calls `each` with every piece; `unreadable` converts a failure to read.
pub(super) fn copy(
    from: &mut dyn Read,
    to: &mut dyn Write,
    path: &Path,
    unreadable: impl FnOnce(io::Error) -> EnvtestError,
    each: &mut dyn FnMut(&[u8]),
) -> Result<(), EnvtestError> {
    let mut buffer = vec![0; 128 * 1024];
    loop {
        let read = match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(unreadable(error)),
        };
        to.write_all(&buffer[..read])
            .map_err(IoError::at("write", path))?;
        each(&buffer[..read]);
    }
}

pub(crate) fn read(path: &Path) -> Result<String, IoError> {
    fs::read_to_string(path).map_err(IoError::at("read", path))
}

/// Names and paths of the entries of `folder`; none if it does not exist.
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

/// Makes `folder` writable for its owner, and returns its previous permissions.
fn make_writable(folder: &Path) -> Result<Permissions, IoError> {
    let metadata = fs::metadata(folder).map_err(IoError::at("read", folder))?;
    let before = metadata.permissions();
    set_mode(folder, |mode| mode | 0o200)?;
    Ok(before)
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

/// On Windows, the name makes a file executable, and a folder has no such mode.
#[cfg(not(unix))]
fn set_mode(_: &Path, _: impl FnOnce(u32) -> u32) -> Result<(), IoError> {
    Ok(())
}
