// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! A folder whose files all change at once, like a Secret that the kubelet mounts.
//!
//! They are links to files in the folder that the link `..data` points to, and that link is
//! replaced.

use std::fs;
use std::io;
use std::path::Path;

/// Writes all files of `folder`; each call must pass the same names.
#[cfg(unix)]
pub(super) fn write(folder: &Path, files: &[(&str, String)]) -> io::Result<()> {
    use std::os::unix::fs::symlink;
    use std::sync::{Mutex, PoisonError};
    use std::time::SystemTime;

    static LOCK: Mutex<()> = Mutex::new(());
    let _guard = LOCK.lock().unwrap_or_else(PoisonError::into_inner);

    let since = SystemTime::UNIX_EPOCH.elapsed().map_err(io::Error::other)?;
    let new = format!("..{}", since.as_nanos());
    fs::create_dir_all(folder.join(&new))?;
    for (name, text) in files {
        fs::write(folder.join(&new).join(name), text)?;
    }

    let data = folder.join("..data");
    let old = fs::read_link(&data);
    // A link can only be replaced by another link.
    let link = folder.join("..data_tmp");
    symlink(new, &link)?;
    fs::rename(link, &data)?;
    if let Ok(old) = old {
        return fs::remove_dir_all(folder.join(old));
    }
    for (name, _) in files {
        symlink(Path::new("..data").join(name), folder.join(name))?;
    }
    Ok(())
}

/// Other systems do not let everybody create links.
#[cfg(not(unix))]
pub(super) fn write(folder: &Path, files: &[(&str, String)]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let mut files = files.iter();
    files.try_for_each(|(name, text)| fs::write(folder.join(name), text))
}
