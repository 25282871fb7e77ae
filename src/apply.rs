//! The one writer: a plan becomes files, or nothing does.
//!
//! 0. The project's folder is locked, so that of two kbr at once one waits.
//! 1. Every file that will change is read again and held against what the plan saw.
//! 2. Every new text is written to a temporary file beside its destination.
//! 3. The temporary files are renamed in the plan's order, PROJECT last.
//! 4. A folder that is empty once a file of it is removed goes along.
//! 5. An error on the way puts back the old texts, and the folders that went, and removes what was
//!    created, folders included.
//! 6. Temporary files of a kbr that was killed are removed from the folders of the plan.
//!
//! No file system renames many files at once, so a power cut between two renames leaves the new
//! files without PROJECT's record of them. Running the same command again finishes the job: files
//! that hold the wanted text already are left as they are.

#[cfg(test)]
pub mod faults;

use std::collections::BTreeSet;
use std::fs::{self, DirEntry, File};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::{Builder, TempPath};

use crate::error::{Error, Result};
use crate::plan::{Plan, Step};
use crate::tree::{TEMPORARY, read_text};

/// How many random letters and digits a temporary file has behind [`TEMPORARY`].
const RANDOM: usize = 6;

/// Makes the folder below `root` what `plan` says, or leaves it as it was.
pub fn apply(root: &Path, plan: &Plan) -> Result<()> {
    let steps: Vec<&Step> = plan.changing().collect();
    let mut undo = Undo::default();
    let folder = undo.create_folders(root);
    let alone = lock(root);
    let written = folder.and_then(|()| write(root, plan, &steps, &mut undo));
    written.map_err(|error| match undo.run() {
        Ok(()) => error,
        Err(undo) => Error::Undo {
            error: Box::new(error),
            undo: Box::new(undo),
        },
    })?;
    if alone.is_some() {
        sweep(root, plan);
    }
    Ok(())
}

/// Does one write. All writes go through here, so that tests can have each of them fail or be the end.
fn on_disk<T>(write: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    #[cfg(test)]
    faults::before_write()?;
    write()
}

/// Keeps every other kbr from writing in the same folder until the handle is dropped. Where a folder
/// cannot be locked (Windows, some network file systems) what the recheck finds has to do.
fn lock(root: &Path) -> Option<File> {
    let folder = File::open(root).ok()?;
    folder.lock().ok()?;
    Some(folder)
}

fn write(root: &Path, plan: &Plan, steps: &[&Step], undo: &mut Undo) -> Result<()> {
    recheck(root, steps)?;
    let staged = stage(root, steps, undo)?;
    // A kbr that was killed may have removed a file and not yet its folder.
    for step in plan.gone() {
        undo.remove_emptied(root, &root.join(&step.path))?;
    }
    commit(root, staged, undo)
}

/// Refuses when a file is no longer what the plan saw.
fn recheck(root: &Path, steps: &[&Step]) -> Result<()> {
    for step in steps {
        let path = root.join(&step.path);
        let now = match fs::symlink_metadata(&path) {
            Ok(found) if found.is_file() => read_text(&path)?,
            Ok(_) => {
                return Err(Error::ChangedMeanwhile {
                    path: step.path.clone(),
                });
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(Error::io("read", path)(error)),
        };
        if now != step.before {
            return Err(Error::ChangedMeanwhile {
                path: step.path.clone(),
            });
        }
    }
    Ok(())
}

/// A step whose new text lies beside its destination, ready to be renamed.
struct Staged<'a> {
    step: &'a Step,
    path: PathBuf,
    /// Nothing for a file that goes.
    text: Option<TempPath>,
}

fn stage<'a>(root: &Path, steps: &[&'a Step], undo: &mut Undo) -> Result<Vec<Staged<'a>>> {
    let mut staged = Vec::with_capacity(steps.len());
    for step in steps {
        let path = root.join(&step.path);
        let text = match &step.after {
            Some(text) => Some(stage_text(&path, text, undo)?),
            None => None,
        };
        staged.push(Staged { step, path, text });
    }
    Ok(staged)
}

/// Writes `text` beside `path`, with the mode that the file has or that a new file gets.
fn stage_text(path: &Path, text: &str, undo: &mut Undo) -> Result<TempPath> {
    let folder = path.parent().unwrap_or(Path::new("."));
    undo.create_folders(folder)?;
    write_beside(path, folder, text).map_err(Error::io("write", path))
}

fn write_beside(path: &Path, folder: &Path, text: &str) -> io::Result<TempPath> {
    let create = |name: &Path| {
        let mut options = fs::OpenOptions::new();
        on_disk(|| options.write(true).create_new(true).open(name))
    };
    let mut temporary = Builder::new()
        .prefix(TEMPORARY)
        .rand_bytes(RANDOM)
        .make_in(folder, create)?;
    on_disk(|| io::Write::write_all(temporary.as_file_mut(), text.as_bytes()))?;
    if let Ok(existing) = fs::metadata(path) {
        on_disk(|| fs::set_permissions(temporary.path(), existing.permissions()))?;
    }
    Ok(temporary.into_temp_path())
}

fn commit(root: &Path, staged: Vec<Staged<'_>>, undo: &mut Undo) -> Result<()> {
    for Staged { step, path, text } in staged {
        let is_gone = text.is_none();
        match text {
            Some(text) => rename(text, &path).map_err(Error::io("write", &path))?,
            None => on_disk(|| fs::remove_file(&path)).map_err(Error::io("remove", &path))?,
        }
        undo.files.push((path.clone(), step.before.clone()));
        if is_gone {
            undo.remove_emptied(root, &path)?;
        }
    }
    Ok(())
}

fn rename(text: TempPath, path: &Path) -> io::Result<()> {
    on_disk(|| text.persist(path).map_err(|error| error.error))
}

/// Removes what a kbr that was killed has left in the folders of the plan. It is only called by one
/// that holds the lock, so that nobody needs these files; one that cannot be removed is no error.
fn sweep(root: &Path, plan: &Plan) {
    let paths = plan.steps.iter().map(|step| Path::new(&step.path));
    let folders: BTreeSet<&Path> = paths.filter_map(Path::parent).collect();
    for folder in folders {
        let entries = fs::read_dir(root.join(folder)).into_iter().flatten();
        for entry in entries.flatten().filter(is_temporary) {
            let _ = on_disk(|| fs::remove_file(entry.path()));
        }
    }
}

/// Whether kbr made the file in order to rename it.
fn is_temporary(entry: &DirEntry) -> bool {
    let name = entry.file_name();
    let random = name.to_str().and_then(|name| name.strip_prefix(TEMPORARY));
    let is_named = random.is_some_and(|random| {
        random.len() == RANDOM && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
    });
    is_named && entry.file_type().is_ok_and(|kind| kind.is_file())
}

/// What brings the old tree back.
#[derive(Default)]
struct Undo {
    /// Files that were renamed over or removed, with their old texts.
    files: Vec<(PathBuf, Option<String>)>,
    /// Folders that were created, outermost first.
    folders: Vec<PathBuf>,
    /// Folders that were removed, innermost first, with their old modes.
    emptied: Vec<(PathBuf, fs::Permissions)>,
}

impl Undo {
    fn create_folders(&mut self, folder: &Path) -> Result<()> {
        let missing: Vec<&Path> = folder
            .ancestors()
            .take_while(|f| !f.as_os_str().is_empty() && !f.exists())
            .collect();
        for folder in missing.into_iter().rev() {
            on_disk(|| fs::create_dir(folder)).map_err(Error::io("create", folder))?;
            self.folders.push(folder.to_owned());
        }
        Ok(())
    }

    /// Removes the folders below `root` that are empty now that the file at `path` is gone.
    fn remove_emptied(&mut self, root: &Path, path: &Path) -> Result<()> {
        let above = path.ancestors().skip(1);
        for folder in above.take_while(|folder| *folder != root) {
            let mode = match fs::metadata(folder) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                mode => mode.map_err(Error::io("read", folder))?,
            };
            remove_folder(folder.to_owned())?;
            if folder.exists() {
                break;
            }
            self.emptied.push((folder.to_owned(), mode.permissions()));
        }
        Ok(())
    }

    /// Undoes as much as can be undone; the first failure is the one that is told.
    fn run(self) -> Result<()> {
        let emptied = self.emptied.into_iter().rev();
        let emptied: Vec<Result<()>> = emptied
            .map(|(path, mode)| restore_folder(path, mode))
            .collect();
        let files = self.files.into_iter().rev();
        let files: Vec<Result<()>> = files.map(|(path, before)| restore(path, before)).collect();
        let folders = self.folders.into_iter().rev();
        let folders: Vec<Result<()>> = folders.map(remove_folder).collect();
        emptied.into_iter().chain(files).chain(folders).collect()
    }
}

/// Makes a folder again that was removed.
fn restore_folder(folder: PathBuf, mode: fs::Permissions) -> Result<()> {
    let made = fs::create_dir(&folder).and_then(|()| fs::set_permissions(&folder, mode));
    made.map_err(Error::io("restore", folder))
}

/// Puts the old text back by renaming, as the new one came: the file itself may be read-only.
fn restore(path: PathBuf, before: Option<String>) -> Result<()> {
    let Some(text) = before else {
        return on_disk(|| fs::remove_file(&path)).map_err(Error::io("remove", path));
    };
    let folder = path.parent().unwrap_or(Path::new("."));
    let restored = write_beside(&path, folder, &text).and_then(|text| rename(text, &path));
    restored.map_err(Error::io("restore", path))
}

/// A folder into which somebody else has put something meanwhile stays.
fn remove_folder(folder: PathBuf) -> Result<()> {
    match on_disk(|| fs::remove_dir(&folder)) {
        Err(error) if error.kind() != io::ErrorKind::DirectoryNotEmpty => {
            Err(Error::io("remove", folder)(error))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Change;
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
        apply(root.path(), &Plan { steps }).expect("nothing in the way");
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
        let error = apply(root.path(), &Plan { steps }).expect_err("a change");
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
        let steps: Vec<&Step> = steps.iter().collect();
        let mut undo = Undo::default();
        let staged = stage(root.path(), &steps, &mut undo).expect("room beside each");
        fs::create_dir(root.path().join("c")).expect("a folder in the way");
        let error =
            commit(root.path(), staged, &mut undo).expect_err("a file cannot replace a folder");
        assert!(error.to_string().starts_with("could not write"), "{error}");
        undo.run().expect("the way back");
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
    fn a_folder_goes_with_its_last_file() {
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
            apply(root.path(), &plan).expect("nothing in the way");
        };
        gone(&["a/b/gone"]);
        assert_eq!(names(&root.path().join("a")), ["b", "kept"]);
        gone(&["a/b/too"]);
        assert_eq!(names(&root.path().join("a")), ["kept"]);
        gone(&["a/kept"]);
        assert_eq!(names(root.path()), ["kept"]);
    }

    #[test]
    fn a_folder_goes_though_its_last_file_has_gone_before() {
        let root = folder(&[]);
        fs::create_dir_all(root.path().join("a/b")).expect("folders");
        let steps = vec![step("a/b/c/gone", None, None)];
        apply(root.path(), &Plan { steps }).expect("nothing in the way");
        assert_eq!(names(root.path()), [""; 0]);
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_went_comes_back_with_its_files_and_its_mode() {
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
        let steps: Vec<&Step> = steps.iter().collect();
        let mut undo = Undo::default();
        let staged = stage(root.path(), &steps, &mut undo).expect("room beside each");
        fs::create_dir(root.path().join("c")).expect("a folder in the way");
        commit(root.path(), staged, &mut undo).expect_err("a file cannot replace a folder");
        assert_eq!(names(root.path()), ["c"], "both folders are gone");
        undo.run().expect("the way back");
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
        apply(root.path(), &plan).expect("nothing in the way");
        assert_eq!(
            fs::metadata(&path).expect("a file").permissions().mode() & 0o777,
            0o750
        );
    }
}
