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

mod error;
#[cfg(test)]
pub(crate) mod faults;
mod record;

use std::collections::BTreeSet;
use std::fs::{self, DirEntry, File};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::Builder;

use crate::error::IoError;
use crate::plan::{Plan, Step};
use crate::tree::{TEMPORARY, read_text};

pub(crate) use error::ApplyError;
#[cfg(test)]
pub(crate) use record::RECORD;
use record::Record;
pub(crate) use record::{Typed, finish};

/// How many random letters and digits follow [`TEMPORARY`] in the name of a temporary file.
const RANDOM: usize = 6;

/// Carries out `plan` in the folder `root`, or leaves the folder as it was. `typed` is for the kbr that
/// has to finish the plan if this one is killed.
pub(crate) fn apply(root: &Path, plan: &Plan, typed: Typed) -> Result<(), ApplyError> {
    let mut undo = Undo::default();
    let created = undo.create_folders(root).map_err(ApplyError::Io);
    let guard = lock(root);
    let written = created.and_then(|()| write(root, plan, &typed, guard.is_some(), &mut undo));
    written.map_err(|error| match undo.run(root, plan, typed) {
        Ok(()) => error,
        Err(undo) => ApplyError::Undo {
            error: Box::new(error),
            undo: Box::new(undo.into()),
        },
    })
}

/// Writes a file of the user's configuration of kbr, which is in no project.
pub(crate) fn write_config(path: &Path, text: &str) -> Result<(), IoError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    on_disk(|| fs::create_dir_all(folder)).map_err(IoError::at("create", folder))?;
    let written = write_beside(path, text).map_err(IoError::at("write", path))?;
    put(path, Some(&written))
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

fn write<'a>(
    root: &Path,
    plan: &'a Plan,
    typed: &Typed,
    is_locked: bool,
    undo: &mut Undo<'a>,
) -> Result<(), ApplyError> {
    let steps: Vec<&Step> = plan.changing().collect();
    recheck(root, &steps)?;
    if is_locked {
        sweep(root, plan.steps.iter().map(|step| step.path.as_str()));
    }
    if steps.is_empty() {
        return Ok(());
    }
    let staged = stage(root, &steps, undo)?;
    record::write(root, &Record::of(plan, &staged, typed), undo)?;
    undo.is_recorded = true;
    commit(root, &staged, undo)?;
    // The owner may have removed a file, but not its folder.
    for step in plan.already_removed() {
        remove_emptied(root, &root.join(&step.path), &mut undo.emptied)?;
    }
    Ok(record::remove(root)?)
}

/// Refuses if a file has changed since the plan was made, or if another kbr was killed since.
fn recheck(root: &Path, steps: &[&Step]) -> Result<(), ApplyError> {
    let changed = |path: &str| ApplyError::ChangedMeanwhile {
        path: path.to_owned(),
    };
    if fs::symlink_metadata(root.join(record::RECORD)).is_ok() {
        return Err(changed(record::RECORD));
    }
    for step in steps {
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

/// A step whose new text is in a temporary file next to its destination, ready to be renamed.
struct Staged<'a> {
    step: &'a Step,
    path: PathBuf,
    /// `None` for a file that is removed.
    temporary: Option<PathBuf>,
}

fn stage<'a>(root: &Path, steps: &[&'a Step], undo: &mut Undo) -> Result<Vec<Staged<'a>>, IoError> {
    let one = |step: &&'a Step| stage_text(root, step, step.after.as_deref(), undo);
    steps.iter().map(one).collect()
}

/// Writes `text` to a temporary file next to the file of `step`, with the mode of that file or of a new
/// file.
fn stage_text<'a>(
    root: &Path,
    step: &'a Step,
    text: Option<&str>,
    undo: &mut Undo,
) -> Result<Staged<'a>, IoError> {
    let path = root.join(&step.path);
    let temporary = match text {
        Some(text) => {
            undo.create_folders(path.parent().unwrap_or(root))?;
            let written = write_beside(&path, text).map_err(IoError::at("write", &path))?;
            undo.temporaries.push(written.clone());
            Some(written)
        }
        None => None,
    };
    Ok(Staged {
        step,
        path,
        temporary,
    })
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

fn commit<'a>(root: &Path, staged: &[Staged<'a>], undo: &mut Undo<'a>) -> Result<(), IoError> {
    for it in staged {
        put(&it.path, it.temporary.as_deref())?;
        undo.done.push(it.step);
        if it.temporary.is_none() {
            remove_emptied(root, &it.path, &mut undo.emptied)?;
        }
    }
    Ok(())
}

/// Gives `path` its new text, or removes it if there is none. Renames, since the file may be read-only.
fn put(path: &Path, temporary: Option<&Path>) -> Result<(), IoError> {
    match temporary {
        Some(text) => on_disk(|| fs::rename(text, path)).map_err(IoError::at("write", path)),
        None => on_disk(|| fs::remove_file(path)).map_err(IoError::at("remove", path)),
    }
}

/// Removes the temporary files of a killed kbr from the root and the folders of `files`. The caller holds
/// the lock, so nobody needs them; it is not an error if one cannot be removed.
fn sweep<'a>(root: &Path, files: impl Iterator<Item = &'a str>) {
    let parents = files.filter_map(|path| Path::new(path).parent());
    let folders: BTreeSet<&Path> = parents.chain([Path::new("")]).collect();
    for folder in folders {
        let entries = fs::read_dir(root.join(folder)).into_iter().flatten();
        for entry in entries.flatten().filter(is_temporary) {
            let _ = on_disk(|| fs::remove_file(entry.path()));
        }
    }
}

/// Whether the file is a temporary file of kbr.
fn is_temporary(entry: &DirEntry) -> bool {
    let name = entry.file_name();
    name.to_str().is_some_and(is_temporary_name)
        && entry.file_type().is_ok_and(|kind| kind.is_file())
}

fn is_temporary_name(name: &str) -> bool {
    name.strip_prefix(TEMPORARY).is_some_and(|random| {
        random.len() == RANDOM && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

/// Folders that were removed, innermost first, with their old modes.
type Emptied = Vec<(PathBuf, fs::Permissions)>;

/// Removes the folders below `root` that are empty after the file at `path` has been removed.
fn remove_emptied(root: &Path, path: &Path, emptied: &mut Emptied) -> Result<(), IoError> {
    let above = path.ancestors().skip(1);
    for folder in above.take_while(|folder| *folder != root) {
        let mode = match fs::metadata(folder) {
            Ok(found) => found.permissions(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(IoError::at("read", folder)(error)),
        };
        remove_folder(folder)?;
        if folder.exists() {
            break;
        }
        emptied.push((folder.to_owned(), mode));
    }
    Ok(())
}

/// How to restore the old tree.
#[derive(Default)]
struct Undo<'a> {
    /// Folders that were created, outermost first.
    folders: Vec<PathBuf>,
    /// Temporary files, including renamed ones.
    temporaries: Vec<PathBuf>,
    /// Whether the record is written.
    is_recorded: bool,
    /// Steps whose files were replaced or removed.
    done: Vec<&'a Step>,
    emptied: Emptied,
}

impl Undo<'_> {
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

    /// Undoes everything. If that fails after the record was written, the next kbr finishes the work:
    /// the plan, or the undo if it already has its record.
    fn run(mut self, root: &Path, plan: &Plan, typed: Typed) -> Result<(), IoError> {
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
    fn put_back(&mut self, root: &Path, plan: &Plan, typed: Typed) -> Result<(), IoError> {
        for (folder, mode) in std::mem::take(&mut self.emptied).into_iter().rev() {
            restore_folder(&folder, mode).map_err(IoError::at("restore", folder))?;
        }
        let done = std::mem::take(&mut self.done);
        let mut staged = Vec::with_capacity(done.len());
        for step in done.into_iter().rev() {
            staged.push(stage_text(root, step, step.before.as_deref(), self)?);
        }
        record::write(root, &Record::of_undo(plan, &staged, typed), self)?;
        let mut files = staged.iter();
        files.try_for_each(|it| put(&it.path, it.temporary.as_deref()))
    }
}

/// Recreates a folder that was removed.
fn restore_folder(folder: &Path, mode: fs::Permissions) -> io::Result<()> {
    on_disk(|| fs::create_dir(folder))?;
    on_disk(|| fs::set_permissions(folder, mode))
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
    use super::*;
    use crate::plan::{Change, Outcome};
    use crate::tree::Tree;

    fn step(path: &str, before: Option<&str>, after: Option<&str>) -> Step {
        Step::new(path, before, after, Outcome::Updated)
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
        let steps: Vec<&Step> = plan.steps.iter().collect();
        let mut undo = Undo::default();
        let staged = stage(root.path(), &steps, &mut undo).expect("room beside each");
        undo.is_recorded = true;
        fs::create_dir(root.path().join("c")).expect("a folder in the way");
        let error =
            commit(root.path(), &staged, &mut undo).expect_err("a file cannot replace a folder");
        assert!(error.to_string().starts_with("could not write"), "{error}");
        undo.run(root.path(), &plan, Typed::default())
            .expect("the way back");
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
        let steps = [
            step("a/b/gone", Some("old"), None),
            step("c", None, Some("new")),
        ];
        let plan = Plan {
            steps: steps.to_vec(),
        };
        let steps: Vec<&Step> = plan.steps.iter().collect();
        let mut undo = Undo::default();
        let staged = stage(root.path(), &steps, &mut undo).expect("room beside each");
        undo.is_recorded = true;
        fs::create_dir(root.path().join("c")).expect("a folder in the way");
        commit(root.path(), &staged, &mut undo).expect_err("a file cannot replace a folder");
        assert!(!root.path().join("a").exists(), "both folders are gone");
        undo.run(root.path(), &plan, Typed::default())
            .expect("the way back");
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
