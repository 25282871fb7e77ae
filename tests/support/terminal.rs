//! Commands on a terminal of their own.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// One end of a terminal of that size for the test, and how to open the other end for a process.
pub fn terminal(columns: u16, rows: u16) -> (File, impl Fn() -> File) {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&terminal).expect("a terminal");
    unlockpt(&terminal).expect("a terminal");
    let size = Winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&terminal, size).expect("a size");
    let path = ptsname(&terminal, Vec::new()).expect("a name");
    let end = move || {
        let path = OsStr::from_bytes(path.as_bytes());
        let opened = File::options().read(true).write(true).open(path);
        opened.expect("the other end")
    };
    (File::from(terminal), end)
}

/// What a command prints on a terminal with that many columns, on both streams; nobody types anything.
pub fn printed(mut command: Command, columns: u16) -> String {
    let (mut terminal, end) = terminal(columns, 24);
    command
        .env("TERM", "xterm")
        .stdin(Stdio::null())
        .stdout(end())
        .stderr(end());
    let mut child = command.spawn().expect("it runs");
    // Otherwise this process would keep the terminal open.
    drop(command);
    let mut shown = Vec::new();
    let mut bytes = [0; 4096];
    // On Linux, a terminal that nobody has open any more is an error.
    while let Ok(count @ 1..) = terminal.read(&mut bytes) {
        shown.extend_from_slice(&bytes[..count]);
    }
    child.wait().expect("it ends");
    String::from_utf8_lossy(&shown).replace("\r\n", "\n")
}
