//! A file for the processes that kbr starts, such as a kubeconfig with credentials.

use std::io::Write;

use crate::error::IoError;

/// A file that nobody else can read. On Linux, it has no name: nothing is left of it however kbr ends.
pub(crate) struct PrivateFile {
    path: String,
    /// The file lasts as long as this.
    #[cfg(target_os = "linux")]
    _file: std::fs::File,
    #[cfg(not(target_os = "linux"))]
    _file: tempfile::NamedTempFile,
}

impl PrivateFile {
    pub(crate) fn write(text: &str) -> Result<Self, IoError> {
        #[cfg(target_os = "linux")]
        let file = tempfile::tempfile();
        #[cfg(not(target_os = "linux"))]
        let file = tempfile::NamedTempFile::new();
        let failed = || IoError::at("write", "a temporary file");
        let mut file = file.map_err(failed())?;
        file.write_all(text.as_bytes()).map_err(failed())?;
        #[cfg(target_os = "linux")]
        let path = {
            let number = std::os::fd::AsRawFd::as_raw_fd(&file);
            format!("/proc/{}/fd/{number}", std::process::id())
        };
        #[cfg(not(target_os = "linux"))]
        let path = file.path().display().to_string();
        Ok(Self { path, _file: file })
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }
}
