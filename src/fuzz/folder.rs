//! Temporary folders of tests.

use std::env;

use rustix::fs::{StatVfsMountFlags, statvfs};
use tempfile::TempDir;

const MEMORY: &str = "/dev/shm";

/// What must be free there: containers have 64 MiB by default, and a test may need twenty.
const NEEDED: u64 = 1 << 30;

/// A temporary folder: in `TMPDIR` if that is set, else in memory where there is enough of it.
///
/// ext4 reuses no inode that was deleted in the last five minutes and searches for another one, which takes longer
/// than a test that makes and deletes a project.
pub fn folder() -> TempDir {
    // Tests put scripts into their folders.
    let is_fit = || {
        statvfs(MEMORY).is_ok_and(|disk| {
            disk.f_bavail * disk.f_frsize >= NEEDED
                && !disk.f_flag.contains(StatVfsMountFlags::NOEXEC)
        })
    };
    let folder = match env::var_os("TMPDIR").is_none() && is_fit() {
        true => tempfile::tempdir_in(MEMORY).or_else(|_| tempfile::tempdir()),
        false => tempfile::tempdir(),
    };
    folder.expect("a temporary folder")
}
