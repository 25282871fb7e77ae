//! What reaches a running kbr from outside: changed files, lines that are typed, signals.

use std::io::{self, BufRead, IsTerminal};
use std::path::{Path, PathBuf};
use std::thread;

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher, event::ModifyKind};

/// Why files cannot be followed.
pub(crate) type WatchError = notify::Error;

/// Follows files for as long as this lives.
pub(crate) struct Following {
    watcher: RecommendedWatcher,
    folders: Vec<PathBuf>,
}

impl Following {
    /// Calls `each` on another thread whenever a file directly in `root`, or anywhere in one of `folders`, changes; with
    /// `true` if one of these folders was made, which needs [`Following::renew`]. They need not exist.
    pub(crate) fn start(
        root: &Path,
        folders: Vec<PathBuf>,
        each: impl Fn(bool) + Send + 'static,
    ) -> Result<Self, WatchError> {
        let made = folders.clone();
        let mut watcher =
            notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
                // After an error, such as too many events, anything may have changed.
                match event {
                    Ok(event) if is_change(&event.kind) => {
                        let is_made = |path| made.contains(path) && path.is_dir();
                        each(event.paths.iter().any(is_made));
                    }
                    Ok(_) => {}
                    Err(_) => each(true),
                }
            })?;
        watcher.watch(root, RecursiveMode::NonRecursive)?;
        let mut following = Self { watcher, folders };
        following.renew()?;
        Ok(following)
    }

    /// Follows each folder as it is now: one that was deleted and made again is another one.
    pub(crate) fn renew(&mut self) -> Result<(), WatchError> {
        for folder in self.folders.iter().filter(|folder| folder.is_dir()) {
            self.watcher.watch(folder, RecursiveMode::Recursive)?;
        }
        Ok(())
    }
}

/// Whether something was written: cargo only reads the sources.
fn is_change(kind: &EventKind) -> bool {
    match kind {
        EventKind::Access(_) | EventKind::Modify(ModifyKind::Metadata(_)) => false,
        EventKind::Any
        | EventKind::Create(_)
        | EventKind::Modify(_)
        | EventKind::Remove(_)
        | EventKind::Other => true,
    }
}

/// Calls `each` on another thread with every line that is typed, if standard input is a terminal.
pub(crate) fn typed_lines(each: impl Fn(&str) + Send + 'static) {
    if !io::stdin().is_terminal() {
        return;
    }
    thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            let Ok(line) = line else { return };
            each(line.trim());
        }
    });
}

/// Calls `each` on another thread when a signal asks kbr to stop.
#[cfg(unix)]
pub(crate) fn stopped(each: impl Fn() + Send + 'static) -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    signalled(&[SIGINT, SIGTERM, SIGHUP], each)
}

/// Calls `each` on another thread when the terminal gets another size.
#[cfg(unix)]
pub(crate) fn resized(each: impl Fn() + Send + 'static) -> io::Result<()> {
    signalled(&[signal_hook::consts::SIGWINCH], each)
}

#[cfg(unix)]
fn signalled(signals: &[i32], each: impl Fn() + Send + 'static) -> io::Result<()> {
    let mut signals = signal_hook::iterator::Signals::new(signals)?;
    thread::spawn(move || {
        for _ in signals.forever() {
            each();
        }
    });
    Ok(())
}

/// `kbr dev` does not run on other systems.
#[cfg(not(unix))]
pub(crate) fn ignored(_: impl Fn() + Send + 'static) -> io::Result<()> {
    Ok(())
}

#[cfg(not(unix))]
pub(crate) use self::{ignored as resized, ignored as stopped};

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_folder_that_is_made_again_is_followed() {
        let root = tempfile::tempdir().expect("a folder");
        let [first, later] = ["first", "later"].map(|name| root.path().join(name));
        fs::create_dir(&first).expect("a folder");
        let (sender, changes) = channel();
        let folders = vec![first.clone(), later.clone()];
        let each = move |is_made| {
            let _ = sender.send(is_made);
        };
        let mut following = Following::start(root.path(), folders, each).expect("a watch");
        let patience = Duration::from_secs(20);
        for folder in [first, later] {
            // The first one exists.
            let _ = fs::remove_dir(&folder);
            fs::create_dir(&folder).expect("a folder");
            while !changes.recv_timeout(patience).expect("a new folder") {}
            following.renew().expect("a watch");
            // Other systems tell of the folder more than once.
            while changes.recv_timeout(Duration::from_millis(300)).is_ok() {}

            fs::write(folder.join("file"), "text").expect("a file");
            assert!(
                changes.recv_timeout(patience).is_ok(),
                "{}",
                folder.display()
            );
            while changes.recv_timeout(Duration::from_millis(300)).is_ok() {}
        }
    }
}
