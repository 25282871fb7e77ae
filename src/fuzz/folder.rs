//! Temporary folders of tests.

use std::path::{Path, PathBuf};
use std::sync::Once;
use std::{env, fs, process};

use rustix::fs::{StatVfsMountFlags, statvfs};
use tempfile::TempDir;

const MEMORY: &str = "/dev/shm";

/// What must be free there: containers have 64 MiB by default, and a test may need twenty.
const NEEDED: u64 = 1 << 30;

/// How the names of the folders begin; the id of the process that made it follows.
const PREFIX: &str = "kbr_test_";

/// A temporary folder: in `TMPDIR` if that is set, else in memory where there is enough of it.
///
/// ext4 reuses no inode that was deleted in the last five minutes and searches for another one, which takes longer
/// than a test that makes and deletes a project.
pub(crate) fn folder() -> TempDir {
    // Tests put scripts into their folders.
    let is_fit = || {
        statvfs(MEMORY).is_ok_and(|disk| {
            disk.f_bavail * disk.f_frsize >= NEEDED
                && !disk.f_flag.contains(StatVfsMountFlags::NOEXEC)
        })
    };
    let place = if env::var_os("TMPDIR").is_some() || !is_fit() {
        env::temp_dir()
    } else {
        PathBuf::from(MEMORY)
    };
    static ONCE: Once = Once::new();
    ONCE.call_once(|| remove_abandoned(&place));
    let prefix = format!("{PREFIX}{}_", process::id());
    let mut builder = tempfile::Builder::new();
    let folder = builder.prefix(&prefix).tempdir_in(&place);
    let folder = folder.or_else(|_| builder.tempdir());
    folder.expect("a temporary folder")
}

/// Removes the folders of processes that are gone: one that is interrupted removes none.
pub(super) fn remove_abandoned(memory: &Path) {
    let folders = fs::read_dir(memory).into_iter().flatten().flatten();
    for folder in folders {
        let name = folder.file_name();
        let name = name.to_string_lossy();
        let of = name
            .strip_prefix(PREFIX)
            .and_then(|it| it.split('_').next());
        if of.is_some_and(|id| !Path::new("/proc").join(id).exists()) {
            // Another process may be removing it too.
            let _ = fs::remove_dir_all(folder.path());
        }
    }
}
