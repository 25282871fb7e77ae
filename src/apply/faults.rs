//! Only for tests: a process in which one write fails, or which ends before one.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// The exit code of a process that ended before a write.
pub(crate) const KILLED: i32 = 137;

static WRITES: AtomicUsize = AtomicUsize::new(0);
static FAILS_AT: AtomicUsize = AtomicUsize::new(0);
static ENDS_AT: AtomicUsize = AtomicUsize::new(0);

/// Makes one write of this process fail, and the process end before another. Writes are counted from 1;
/// 0 means never.
pub(crate) fn set(fails_at: usize, ends_at: usize) {
    FAILS_AT.store(fails_at, SeqCst);
    ENDS_AT.store(ends_at, SeqCst);
}

/// How many writes this process has begun.
pub(crate) fn writes() -> usize {
    WRITES.load(SeqCst)
}

pub(crate) fn before_write() -> io::Result<()> {
    let this = WRITES.fetch_add(1, SeqCst) + 1;
    if this == ENDS_AT.load(SeqCst) {
        // Nothing is dropped and nothing is flushed: on the disk it looks like SIGKILL.
        std::process::exit(KILLED);
    }
    if this == FAILS_AT.load(SeqCst) {
        return Err(io::Error::other("no room"));
    }
    Ok(())
}
