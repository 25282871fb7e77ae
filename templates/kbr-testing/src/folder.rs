// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The folder of one environment: logs, keys and kubeconfigs, below the target directory.
//!
//! It outlives its process, so that logs can be read after a failure. A later start removes the
//! folders of ended processes, which it recognizes by a lock that is no longer held.

use std::env;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::TestEnvError;
use super::suite::Suite;

/// The folder that contains all of them.
pub(super) const ALL: &str = "testenv";

pub(super) const LOCK: &str = "lock";

/// How long the logs of an ended process are kept, whatever else starts.
const KEPT: Duration = Duration::from_secs(15 * 60);

pub(super) struct Folder {
    path: PathBuf,
    /// Held for as long as this lives.
    _lock: File,
}

impl Folder {
    /// Creates a new folder and removes those that are no longer in use.
    ///
    /// # Errors
    ///
    /// [`TestEnvError::Folder`].
    pub(super) fn create() -> Result<Self, TestEnvError> {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let parent = target().join(ALL);
        let mut paths = std::iter::repeat_with(|| {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            parent.join(format!("{}-{number}", std::process::id()))
        });
        // A process of which the logs are kept may have had the same id.
        let path = paths.find(|path| !path.exists()).unwrap_or_default();
        let create = || {
            fs::create_dir_all(&parent)?;
            // Two processes that start at once must not remove each other's folder before it is
            // locked.
            let starting = File::create(parent.join(LOCK))?;
            starting.lock()?;
            remove_unused(&parent)?;
            create_private(&path)?;
            let lock = File::create(path.join(LOCK))?;
            lock.lock()?;
            Ok(lock)
        };
        match create() {
            Ok(lock) => Ok(Self { path, _lock: lock }),
            Err(source) => Err(TestEnvError::Folder { path, source }),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file and returns its path.
    ///
    /// # Errors
    ///
    /// [`TestEnvError::Folder`].
    pub(super) fn write(&self, name: &str, text: &str) -> Result<PathBuf, TestEnvError> {
        let path = self.path.join(name);
        match fs::write(&path, text) {
            Ok(()) => Ok(path),
            Err(source) => Err(TestEnvError::Folder { path, source }),
        }
    }
}

/// Creates a folder that only its owner may access: it contains keys and tokens.
fn create_private(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// The folder of the profile in the target directory, derived from the path of the running binary;
/// in a run of the suite that another process watches, the folder of that run.
fn target() -> PathBuf {
    if let Some(suite) = Suite::current() {
        return suite.folder.clone();
    }
    let binary = env::current_exe().unwrap_or_default();
    let folders = binary.ancestors().skip(1);
    let mut folders =
        folders.skip_while(|folder| folder.ends_with("deps") || folder.ends_with("examples"));
    folders.next().map_or_else(env::temp_dir, Path::to_owned)
}

fn remove_unused(parent: &Path) -> io::Result<()> {
    for entry in fs::read_dir(parent)? {
        let path = entry?.path();
        if !path.is_dir() {
            continue;
        }
        let is_used = File::open(path.join(LOCK)).is_ok_and(|lock| lock.try_lock().is_err());
        if !is_used && !is_recent(&path) {
            // A folder that cannot be removed now does no harm, and the next start tries again.
            let _ = fs::remove_dir_all(&path);
        }
    }
    Ok(())
}

/// Whether something was written to the folder recently: somebody may still want to read it.
fn is_recent(folder: &Path) -> bool {
    let written = |entry: io::Result<fs::DirEntry>| entry?.metadata()?.modified();
    let entries = fs::read_dir(folder).into_iter().flatten();
    let ages = entries.filter_map(|entry| written(entry).ok()?.elapsed().ok());
    ages.min().is_some_and(|age| age < KEPT)
}

#[cfg(test)]
mod tests;
