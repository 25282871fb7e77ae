//! The only module that writes to a project: it carries out a plan completely, or not at all.
//!
//! 0. The project's folder is locked, so that a second kbr waits.
//! 1. Every file that will change is read again and compared with what the plan saw. Temporary
//!    files of a kbr that was killed are removed from the folders of the plan.
//! 2. Every new text is written to a temporary file next to its destination.
//! 3. [`record`] records the renames and removals to do.
//! 4. The temporary files are renamed in the plan's order, PROJECT last. A folder that becomes empty
//!    is removed too.
//! 5. The record is removed.
//! 6. On an error, the old texts and the removed folders are restored, and what was created is
//!    removed; if files have already changed, with a record of the undo.
//!
//! A kbr that is killed before 3 has changed nothing; after that, the next one finishes its work from
//! the record. Nothing is synced to disk: after a power failure, a file system that reorders writes may
//! have a record whose temporary files are empty, which is refused because of their hashes.

mod record;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use miette::Diagnostic;
use tempfile::Builder;
use thiserror::Error;

use crate::error::{IoError, quoted};
use crate::plan::Plan;
use crate::tree::{TEMPORARY, read_text};

#[cfg(test)]
pub use record::RECORD;
use record::Record;
pub use record::{Typed, finish};
#[cfg(test)]
pub use tests::faults;

/// How many random letters and digits follow [`TEMPORARY`] in the name of a temporary file.
const RANDOM: usize = 6;

/// The help if nobody can know any more what is half done.
const RESTORE: &str = "restore the whole project from version control, remove `.kbr-plan`, and type the same \
                       command again";

/// Why a plan was not carried out.
#[derive(Debug, Error, Diagnostic)]
pub enum ApplyError {
    #[error("`{path}` changed while kbr was at work")]
    #[diagnostic(code("changed-meanwhile"))]
    #[diagnostic(help("nothing was written; type the same command again"))]
    ChangedMeanwhile { path: String },
    #[error("a `kbr {command}` was interrupted, and is not finished yet")]
    #[diagnostic(code("half-done"))]
    #[diagnostic(help(
        "type a command without `--dry-run` and `--check`: it finishes the interrupted one first"
    ))]
    HalfDone { command: String },
    #[error("a `kbr {command}` was interrupted, and cannot be finished: {} changed since", quoted(.files))]
    #[diagnostic(code("cannot-finish"))]
    #[diagnostic(help("{RESTORE}"))]
    CannotFinish { command: String, files: Vec<String> },
    #[error("`.kbr-plan`, left by an interrupted kbr, cannot be read: {reason}")]
    #[diagnostic(code("record-unreadable"))]
    #[diagnostic(help("{RESTORE}"))]
    RecordUnreadable { reason: String },
    #[error("{error}; undoing it failed too: {undo}")]
    #[diagnostic(code("undo"))]
    #[diagnostic(help(
        "fix that, and type the same command again: it first finishes what is half done"
    ))]
    Undo { error: Box<Self>, undo: Box<Self> },
    #[error(transparent)]
    #[diagnostic(transparent)]
    Io(#[from] IoError),
}

/// Carries out `plan` in the folder `root`, or leaves the folder as it was. `typed` is for the kbr that
/// has to finish the plan if this one is killed.
pub fn apply(root: &Path, plan: &Plan, typed: Typed) -> Result<(), ApplyError> {
    let mut undo = Undo::default();
    let written = write(root, plan, &typed, &mut undo);
    written.map_err(|error| match undo.run(root, plan, &typed) {
        Ok(()) => error,
        Err(undo) => ApplyError::Undo {
            error: Box::new(error),
            undo: Box::new(undo.into()),
        },
    })
}

/// Does one write. All writes go through here, so that tests can make each of them fail, or end the
/// process before it.
fn on_disk<T>(write: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    #[cfg(test)]
    faults::before_write()?;
    write()
}

/// Keeps every other kbr from writing in the same folder until the handle is dropped. If a folder
/// cannot be locked (Windows, some network file systems), the check for changes is the only
/// protection.
fn lock(root: &Path) -> Option<File> {
    let folder = File::open(root).ok()?;
    folder.lock().ok()?;
    Some(folder)
}

fn write(root: &Path, plan: &Plan, typed: &Typed, undo: &mut Undo) -> Result<(), ApplyError> {
    undo.create_folders(root)?;
    undo.guard = lock(root);
    recheck(root, plan)?;
    if undo.guard.is_some() {
        sweep(root, plan.steps.iter().map(|step| step.path.as_str()));
    }
    if plan.changing().next().is_none() {
        return Ok(());
    }
    let record = Record::begin(root, plan, typed, false, undo)?;
    record.commit(root, undo)?;
    Ok(record::remove(root)?)
}

/// Refuses if a file has changed since the plan was made, or if another kbr was killed since.
fn recheck(root: &Path, plan: &Plan) -> Result<(), ApplyError> {
    let changed = |path: &str| ApplyError::ChangedMeanwhile {
        path: path.to_owned(),
    };
    if fs::symlink_metadata(root.join(record::RECORD)).is_ok() {
        return Err(changed(record::RECORD));
    }
    for step in plan.changing() {
        let path = root.join(&step.path);
        let now = match fs::symlink_metadata(&path) {
            Ok(found) if found.is_file() => read_text(&path)?,
            Ok(_) => return Err(changed(&step.path)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(IoError::at("read", path)(error).into()),
        };
        if now != step.before {
            return Err(changed(&step.path));
        }
    }
    Ok(())
}

fn write_beside(path: &Path, text: &str) -> io::Result<PathBuf> {
    let create = |name: &Path| {
        let mut options = fs::OpenOptions::new();
        on_disk(|| options.write(true).create_new(true).open(name))
    };
    let mut temporary = Builder::new()
        .prefix(TEMPORARY)
        .rand_bytes(RANDOM)
        .make_in(path.parent().unwrap_or(Path::new(".")), create)?;
    on_disk(|| io::Write::write_all(temporary.as_file_mut(), text.as_bytes()))?;
    if let Ok(existing) = fs::metadata(path) {
        on_disk(|| fs::set_permissions(temporary.path(), existing.permissions()))?;
    }
    let kept = temporary.into_temp_path().keep();
    kept.map_err(|error| error.error)
}

/// Gives `path` its new text, which is in the file called `temporary` next to it, or removes it if there is none.
/// Renames, since the file may be read-only.
fn put(path: &Path, temporary: Option<&str>) -> Result<(), IoError> {
    match temporary.map(|name| path.with_file_name(name)) {
        Some(text) => on_disk(|| fs::rename(text, path)).map_err(IoError::at("write", path)),
        None => on_disk(|| fs::remove_file(path)).map_err(IoError::at("remove", path)),
    }
}

/// Removes the temporary files of a killed kbr from the root and the folders of `files`. The caller holds
/// the lock, so nobody needs them; it is not an error if one cannot be removed.
fn sweep<'a>(root: &Path, files: impl Iterator<Item = &'a str>) {
    let folders = files.filter_map(|path| Path::new(path).parent());
    let folders: BTreeSet<&Path> = folders.chain([Path::new("")]).collect();
    for folder in folders {
        let entries = fs::read_dir(root.join(folder)).into_iter().flatten();
        for entry in entries.flatten() {
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            if is_file && is_temporary(&entry.file_name().to_string_lossy()) {
                let _ = on_disk(|| fs::remove_file(entry.path()));
            }
        }
    }
}

/// Whether a temporary file of kbr's may have that name.
fn is_temporary(name: &str) -> bool {
    name.strip_prefix(TEMPORARY).is_some_and(|random| {
        random.len() == RANDOM && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

/// Folders that were removed, innermost first, with their old modes.
type Emptied = Vec<(PathBuf, fs::Permissions)>;

/// How to restore the old tree.
#[derive(Default)]
struct Undo {
    /// The lock, which is held until everything is done or undone.
    guard: Option<File>,
    /// Folders that were created, outermost first.
    folders: Vec<PathBuf>,
    /// Temporary files, including renamed ones.
    temporaries: Vec<PathBuf>,
    /// Whether the record is written.
    is_recorded: bool,
    /// How many of the plan's changes are carried out.
    done: usize,
    emptied: Emptied,
}

impl Undo {
    fn create_folders(&mut self, folder: &Path) -> Result<(), IoError> {
        let missing: Vec<&Path> = folder
            .ancestors()
            .take_while(|f| !f.as_os_str().is_empty() && !f.exists())
            .collect();
        for folder in missing.into_iter().rev() {
            on_disk(|| fs::create_dir(folder)).map_err(IoError::at("create", folder))?;
            self.folders.push(folder.to_owned());
        }
        Ok(())
    }

    /// Writes `text` to a temporary file next to the file at `path`, ready to be renamed, with the mode of that
    /// file or of a new file, and returns its name.
    fn stage(&mut self, path: &Path, text: &str) -> Result<String, IoError> {
        self.create_folders(path.parent().unwrap_or(path))?;
        let temporary = write_beside(path, text).map_err(IoError::at("write", path))?;
        let name = temporary.file_name().unwrap_or_default();
        let name = name.to_string_lossy().into_owned();
        self.temporaries.push(temporary);
        Ok(name)
    }

    /// Undoes everything. If that fails after the record was written, the next kbr finishes the work:
    /// the plan, or the undo if it already has its record.
    fn run(mut self, root: &Path, plan: &Plan, typed: &Typed) -> Result<(), IoError> {
        if self.is_recorded {
            self.put_back(root, plan, typed)?;
        }
        for temporary in self.temporaries {
            if temporary.exists() {
                on_disk(|| fs::remove_file(&temporary))
                    .map_err(IoError::at("remove", &temporary))?;
            }
        }
        for folder in self.folders.iter().rev() {
            remove_folder(folder)?;
        }
        if self.is_recorded {
            record::remove(root)?;
        }
        Ok(())
    }

    /// Restores the old texts in the same way: staged, recorded, renamed.
    fn put_back(&mut self, root: &Path, plan: &Plan, typed: &Typed) -> Result<(), IoError> {
        for (folder, mode) in std::mem::take(&mut self.emptied).into_iter().rev() {
            let created = on_disk(|| fs::create_dir(&folder));
            let restored = created.and_then(|()| on_disk(|| fs::set_permissions(&folder, mode)));
            restored.map_err(IoError::at("restore", folder))?;
        }
        let plan = reversed(plan, self.done);
        let record = Record::begin(root, &plan, typed, true, self)?;
        record.put(root, self)
    }
}

/// The plan that undoes the first changes of `plan`, as many as are `done`.
fn reversed(plan: &Plan, done: usize) -> Plan {
    let mut plan = plan.clone();
    let steps = plan.steps.iter_mut();
    let changing = steps.filter(|step| step.before != step.after);
    for (at, step) in changing.enumerate() {
        if at < done {
            std::mem::swap(&mut step.before, &mut step.after);
        } else {
            step.after.clone_from(&step.before);
        }
    }
    plan
}

/// Removes a folder, unless something has been put into it in the meantime.
fn remove_folder(folder: &Path) -> Result<(), IoError> {
    match on_disk(|| fs::remove_dir(folder)) {
        Err(error) if error.kind() != io::ErrorKind::DirectoryNotEmpty => {
            Err(IoError::at("remove", folder)(error))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    pub mod faults;

    use super::*;
    use crate::plan::{Change, Step};
    use crate::tree::Tree;

    fn step(path: &str, before: Option<&str>, after: Option<&str>) -> Step {
        Step::of(path, before, after)
    }

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            fs::write(folder.path().join(name), text).expect("a file");
        }
        folder
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .expect("a folder")
            .map(|e| {
                e.expect("an entry")
                    .file_name()
                    .into_string()
                    .expect("UTF-8")
            })
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_plan_becomes_files() {
        let root = folder(&[("edited", "old"), ("gone", "old")]);
        let steps = vec![
            step("a/b/new", None, Some("new")),
            step("edited", Some("old"), Some("new")),
            step("gone", Some("old"), None),
        ];
        apply(root.path(), &Plan { steps }, Typed::default()).expect("nothing in the way");
        assert_eq!(names(root.path()), ["a", "edited"]);
        assert_eq!(
            fs::read_to_string(root.path().join("a/b/new")).expect("a file"),
            "new"
        );
        assert_eq!(
            fs::read_to_string(root.path().join("edited")).expect("a file"),
            "new"
        );
    }

    #[test]
    fn a_file_that_changed_since_the_plan_stops_everything() {
        let root = folder(&[("edited", "by somebody else")]);
        let steps = vec![
            step("a", None, Some("new")),
            step("edited", Some("old"), Some("new")),
        ];
        let error = apply(root.path(), &Plan { steps }, Typed::default()).expect_err("a change");
        assert_eq!(error.to_string(), "`edited` changed while kbr was at work");
        assert_eq!(names(root.path()), ["edited"]);
    }

    #[test]
    fn a_rename_that_fails_half_way_leaves_the_old_tree() {
        let root = folder(&[("a", "old"), ("z", "old")]);
        let steps = [
            step("a", Some("old"), Some("new")),
            step("folder/b", None, Some("new")),
            step("c", None, Some("new")),
            step("z", Some("old"), None),
        ];
        let plan = Plan {
            steps: steps.to_vec(),
        };
        let (mut undo, typed) = (Undo::default(), Typed::default());
        let record = Record::begin(root.path(), &plan, &typed, false, &mut undo);
        fs::create_dir(root.path().join("c")).expect("a folder in the way");
        let error = record
            .expect("room beside each")
            .commit(root.path(), &mut undo)
            .expect_err("a file cannot replace a folder");
        assert!(error.to_string().starts_with("could not write"), "{error}");
        undo.run(root.path(), &plan, &typed).expect("the way back");
        fs::remove_dir(root.path().join("c")).expect("the folder in the way");
        assert_eq!(
            names(root.path()),
            ["a", "z"],
            "no temporary file, no folder"
        );
        assert_eq!(
            fs::read_to_string(root.path().join("a")).expect("a file"),
            "old"
        );
    }

    #[test]
    fn a_folder_is_removed_with_its_last_file() {
        let root = folder(&[("kept", "mine")]);
        fs::create_dir_all(root.path().join("a/b")).expect("folders");
        for path in ["a/b/gone", "a/b/too", "a/kept"] {
            fs::write(root.path().join(path), "old").expect("a file");
        }
        let gone = |paths: &[&str]| {
            let steps = paths.iter().map(|path| step(path, Some("old"), None));
            let plan = Plan {
                steps: steps.collect(),
            };
            apply(root.path(), &plan, Typed::default()).expect("nothing in the way");
        };
        gone(&["a/b/gone"]);
        assert_eq!(names(&root.path().join("a")), ["b", "kept"]);
        gone(&["a/b/too"]);
        assert_eq!(names(&root.path().join("a")), ["kept"]);
        gone(&["a/kept"]);
        assert_eq!(names(root.path()), ["kept"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_removed_folder_is_restored_with_its_files_and_its_mode() {
        use std::os::unix::fs::PermissionsExt;
        let root = folder(&[]);
        let inner = root.path().join("a/b");
        fs::create_dir_all(&inner).expect("folders");
        fs::write(inner.join("gone"), "old").expect("a file");
        fs::set_permissions(&inner, fs::Permissions::from_mode(0o750)).expect("a mode");
        let plan = Plan {
            steps: vec![step("a/b/gone", Some("old"), None)],
        };
        let (mut undo, typed) = (Undo::default(), Typed::default());
        let record = Record::begin(root.path(), &plan, &typed, false, &mut undo);
        let committed = record.expect("room").commit(root.path(), &mut undo);
        committed.expect("nothing in the way");
        assert!(!root.path().join("a").exists(), "both folders are gone");
        undo.run(root.path(), &plan, &typed).expect("the way back");
        let text = fs::read_to_string(inner.join("gone")).expect("a file");
        assert_eq!(text, "old");
        let mode = fs::metadata(&inner).expect("a folder").permissions().mode();
        assert_eq!(mode & 0o777, 0o750);
    }

    #[cfg(unix)]
    #[test]
    fn an_existing_file_keeps_its_mode() {
        use std::os::unix::fs::PermissionsExt;
        let root = folder(&[("script", "old")]);
        let path = root.path().join("script");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).expect("a mode");
        let change = Change::Create {
            path: "script".to_owned(),
            text: "new".to_owned(),
            force: true,
        };
        let plan =
            Plan::resolve(vec![change], &Tree::from([("script", "old")])).expect("no conflict");
        apply(root.path(), &plan, Typed::default()).expect("nothing in the way");
        assert_eq!(
            fs::metadata(&path).expect("a file").permissions().mode() & 0o777,
            0o750
        );
    }
}
