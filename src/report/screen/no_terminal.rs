//! No screen on systems where `kbr dev` does not run.

use std::io;

pub(crate) struct Terminal;

impl Terminal {
    pub(crate) fn take() -> io::Result<Option<Self>> {
        Ok(None)
    }

    pub(crate) fn is_on(&self) -> bool {
        false
    }

    pub(crate) fn size(&self) -> (usize, usize) {
        (80, 24)
    }

    pub(crate) fn show(&self, _: &[String]) {}
}
