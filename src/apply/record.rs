//! The record on disk of what kbr is about to do: if kbr is killed half-way, the next kbr finishes it.
//!
//! The record is written when all new texts are in files next to their destinations, and removed when
//! all of these are renamed; it exists completely or not at all. It is read as hostile input, since it
//! may be part of someone's repository: paths must stay in the project and contain no link, temporary
//! files must have kbr's names, and a text that is neither the old one nor the new one stays.

use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{ApplyError, Staged, Undo};
use super::{is_temporary_name, lock, put, remove_emptied, sweep, write_beside};
use crate::error::IoError;
use crate::plan::{Outcome, Plan, Step};
use crate::project::is_inside;
use crate::rendered::hash;
use crate::tree::read_text;

/// Path of the record. [`crate::tree`] does not count it among the project's files.
pub(crate) const RECORD: &str = ".kbr-plan";

/// The command that was typed, and what is reported when it is done.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Typed {
    /// Its name, such as `create api`.
    pub(crate) command: String,
    /// The whole line, if typing it again must not repeat it.
    pub(crate) line: Option<String>,
    pub(crate) warnings: Vec<String>,
    pub(crate) next: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Record {
    typed: Typed,
    /// Whether the old texts are being put back, after an error.
    is_undo: bool,
    files: Vec<Recorded>,
}

/// One step.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Recorded {
    path: String,
    outcome: Outcome,
    /// The hash of the old text, if there was one.
    before: Option<String>,
    /// The hash of the new text, unless the file is removed.
    after: Option<String>,
    /// The name of the temporary file next to it that has the new text.
    temporary: Option<String>,
}

/// What a killed kbr began and this one has finished.
pub(crate) struct Finished {
    pub(crate) typed: Typed,
    pub(crate) is_undo: bool,
    pub(crate) plan: Plan,
}

impl Record {
    pub(super) fn of(plan: &Plan, staged: &[Staged], typed: &Typed) -> Self {
        let file = |step: &Step| Recorded::of(step, staged, [&step.before, &step.after]);
        Self {
            typed: typed.clone(),
            is_undo: false,
            files: plan.steps.iter().map(file).collect(),
        }
    }

    /// The undo of the staged files; the others are listed because of their folders.
    pub(super) fn of_undo(plan: &Plan, staged: &[Staged], typed: Typed) -> Self {
        let is_done = |step: &Step| staged.iter().any(|it| it.step.path == step.path);
        let file = |step: &Step| {
            if is_done(step) {
                Recorded::of(step, staged, [&step.after, &step.before])
            } else {
                Recorded::of(step, staged, [&step.before, &step.before])
            }
        };
        Self {
            typed,
            is_undo: true,
            files: plan.steps.iter().map(file).collect(),
        }
    }

    /// Refuses paths and names that are not safe, and removes control characters from texts to be printed.
    fn checked(mut self) -> Result<Self, String> {
        let Typed {
            command,
            line: _,
            warnings,
            next,
        } = &mut self.typed;
        for text in warnings.iter_mut().chain([command, next]) {
            text.retain(|c| c == '\n' || !c.is_control());
        }
        for file in &self.files {
            if !is_inside(&file.path) {
                let path = file.path.escape_debug();
                return Err(format!("`{path}` leaves the project"));
            }
            if let Some(name) = &file.temporary
                && !is_temporary_name(name)
            {
                let shown = name.escape_debug();
                return Err(format!("`{shown}` is not a temporary file of kbr's"));
            }
        }
        Ok(self)
    }
}

impl Recorded {
    fn of(step: &Step, staged: &[Staged], texts: [&Option<String>; 2]) -> Self {
        let [before, after] = texts.map(|text| text.as_deref().map(hash));
        let own = staged.iter().find(|it| it.step.path == step.path);
        let temporary = own.and_then(|it| it.temporary.as_ref()?.file_name());
        Self {
            path: step.path.clone(),
            outcome: step.outcome,
            before,
            after,
            temporary: temporary.map(|name| name.to_string_lossy().into_owned()),
        }
    }

    /// Whether the file still has to be changed; `None` if it cannot be.
    fn is_pending(&self, root: &Path) -> Option<bool> {
        if !has_own_folders(root, &self.path) {
            return None;
        }
        if self.before == self.after {
            return Some(false);
        }
        let path = root.join(&self.path);
        let now = hash_of(&path)?;
        if now == self.after {
            return Some(false);
        }
        let is_ready = match &self.temporary {
            Some(name) => {
                let text = hash_of(&path.with_file_name(name))?;
                text.is_some() && text == self.after
            }
            None => self.after.is_none(),
        };
        (now == self.before && is_ready).then_some(true)
    }
}

/// Whether everything that exists above the file is a folder and not a link.
fn has_own_folders(root: &Path, path: &str) -> bool {
    let ancestors = Path::new(path).ancestors().skip(1);
    let mut above = ancestors.filter(|folder| !folder.as_os_str().is_empty());
    above.all(|folder| match fs::symlink_metadata(root.join(folder)) {
        Ok(found) => found.is_dir(),
        Err(_) => true,
    })
}

/// The hash of the file's text, if the file exists; the outer `None` if it is not a text file.
fn hash_of(path: &Path) -> Option<Option<String>> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_file() => Some(Some(hash(&read_text(path).ok()??))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Some(None),
        _ => None,
    }
}

/// Writes the record, replacing an existing one.
pub(super) fn write(root: &Path, record: &Record, undo: &mut Undo) -> Result<(), IoError> {
    let path = root.join(RECORD);
    let json = serde_json::to_string_pretty(record).map_err(io::Error::from);
    let text = json.map_err(IoError::at("write", &path))? + "\n";
    let temporary = write_beside(&path, &text).map_err(IoError::at("write", &path))?;
    undo.temporaries.push(temporary.clone());
    put(&path, Some(&temporary))
}

pub(super) fn remove(root: &Path) -> Result<(), IoError> {
    put(&root.join(RECORD), None)
}

/// Finishes what a killed kbr began in the folder `root`, if there was one. Waits for a kbr that is
/// still running.
pub(crate) fn finish(root: &Path, may_write: bool) -> Result<Option<Finished>, ApplyError> {
    if fs::symlink_metadata(root.join(RECORD)).is_err() {
        return Ok(None);
    }
    let guard = lock(root);
    let Some(record) = read(root)? else {
        return Ok(None);
    };
    let command = record.typed.command.clone();
    if !may_write {
        return Err(ApplyError::HalfDone { command });
    }
    let (mut left, mut others) = (Vec::new(), Vec::new());
    for file in &record.files {
        match file.is_pending(root) {
            Some(true) => left.push(file),
            Some(false) => {}
            None => others.push(file.path.escape_debug().to_string()),
        }
    }
    if !others.is_empty() {
        return Err(ApplyError::CannotFinish {
            command,
            files: others,
        });
    }
    for file in left {
        let path = root.join(&file.path);
        let name = file.temporary.as_ref();
        let temporary = name.map(|name| path.with_file_name(name));
        put(&path, temporary.as_deref())?;
    }
    if guard.is_some() {
        sweep(root, record.files.iter().map(|file| file.path.as_str()));
    }
    for file in record.files.iter().filter(|file| file.after.is_none()) {
        remove_emptied(root, &root.join(&file.path), &mut Vec::new())?;
    }
    remove(root)?;
    let recorded = record.files.into_iter();
    let files = recorded.filter(|file| file.before.is_some() || file.after.is_some());
    // The texts are not shown.
    let steps = files.map(|file| Step::new(&file.path, Some(""), Some(""), file.outcome));
    Ok(Some(Finished {
        typed: record.typed,
        is_undo: record.is_undo,
        plan: Plan {
            steps: steps.collect(),
        },
    }))
}

/// Reads the record; `None` if it no longer exists.
fn read(root: &Path) -> Result<Option<Record>, ApplyError> {
    let path = root.join(RECORD);
    let unreadable = |reason: String| ApplyError::RecordUnreadable { reason };
    let content = match fs::symlink_metadata(&path) {
        Ok(found) if found.is_file() => read_text(&path)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        _ => return Err(unreadable("it is not a file".to_owned())),
    };
    let text = content.ok_or_else(|| unreadable("it is not UTF-8".to_owned()))?;
    let record: Record =
        serde_json::from_str(&text).map_err(|error| unreadable(error.to_string()))?;
    record.checked().map(Some).map_err(unreadable)
}

#[cfg(test)]
mod tests {
    use super::super::{apply, commit, stage};
    use super::*;
    use crate::error::help_of;
    use std::collections::BTreeMap;
    use tempfile::TempDir;

    /// A plan that changes two files and removes a third, of which only the first is done.
    fn half_done() -> TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        for folder in ["old/deep", "untouched/deep"] {
            fs::create_dir_all(root.join(folder)).expect("a folder");
        }
        for path in ["b", "old/deep/c", "untouched/deep/c"] {
            fs::write(root.join(path), "old").expect("a file");
        }
        let plan = Plan {
            steps: vec![
                Step::new("a", None, Some("new"), Outcome::Updated),
                Step::new("b", Some("old"), Some("new"), Outcome::Updated),
                Step::new("old/deep/c", Some("old"), None, Outcome::Updated),
                Step::new(
                    "untouched/deep/c",
                    Some("old"),
                    Some("old"),
                    Outcome::Updated,
                ),
            ],
        };
        let typed = Typed {
            command: "create api".to_owned(),
            warnings: vec!["red: \u{1b}[31m".to_owned()],
            ..Typed::default()
        };
        let steps: Vec<&Step> = plan.changing().collect();
        let mut undo = Undo::default();
        let staged = stage(root, &steps, &mut undo).expect("room");
        write(root, &Record::of(&plan, &staged, &typed), &mut undo).expect("room");
        commit(root, &staged[..1], &mut undo).expect("room");
        folder
    }

    /// Every file and link below the folder.
    fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
        let mut found = BTreeMap::new();
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.display().to_string();
            if path.is_symlink() {
                found.insert(name, b"a link".to_vec());
            } else if path.is_dir() {
                found.extend(files(&path));
                found.insert(name, b"a folder".to_vec());
            } else {
                found.insert(name, fs::read(&path).expect("a file"));
            }
        }
        found
    }

    /// Asserts that nothing is written, and that the error says what to type.
    #[track_caller]
    fn assert_refused(root: &Path, may_write: bool, message: &str) {
        let before = files(root);
        let error = finish(root, may_write).err().expect("a refusal");
        assert!(error.to_string().contains(message), "{error}");
        assert!(
            help_of(&error).is_some_and(|help| help.contains("type ")),
            "{error}"
        );
        assert_eq!(files(root), before);
    }

    /// The temporary file of `b`.
    fn temporary(root: &Path) -> std::path::PathBuf {
        let record = read(root).expect("it can be read").expect("a record");
        root.join(record.files[1].temporary.as_ref().expect("a name"))
    }

    #[test]
    fn interrupted_work_is_finished() {
        let folder = half_done();
        let root = folder.path();
        let finished = finish(root, true).expect("no refusal").expect("a record");
        assert_eq!(finished.typed.command, "create api");
        assert_eq!(finished.typed.warnings, ["red: [31m"]);
        assert!(!finished.is_undo);
        let paths: Vec<&str> = finished.plan.steps.iter().map(|it| &*it.path).collect();
        assert_eq!(paths, ["a", "b", "old/deep/c", "untouched/deep/c"]);
        let text = |path: &str| fs::read_to_string(root.join(path)).expect("a file");
        assert_eq!(["a", "b"].map(text), ["new", "new"]);
        let left = [".", "untouched"].map(|folder| fs::read_dir(root.join(folder)));
        let left = left.map(|entries| entries.expect("a folder").count());
        assert_eq!(left, [3, 1], "neither the folder `old` nor a file of kbr's");
        assert!(finish(root, true).expect("no refusal").is_none());
    }

    #[test]
    fn a_dry_run_leaves_it_half_done() {
        let folder = half_done();
        let message = "a `kbr create api` was interrupted, and is not finished yet";
        assert_refused(folder.path(), false, message);
    }

    #[test]
    fn a_plan_for_a_half_done_tree_is_not_carried_out() {
        let folder = half_done();
        let before = files(folder.path());
        let plan = Plan {
            steps: vec![Step::new("d", None, Some("new"), Outcome::Updated)],
        };
        let error = apply(folder.path(), &plan, Typed::default()).expect_err("a record");
        let message = "`.kbr-plan` changed while kbr was at work";
        assert_eq!(error.to_string(), message);
        assert_eq!(files(folder.path()), before);
    }

    #[test]
    fn a_file_that_its_owner_has_changed_since_stays() {
        type Harm = fn(&Path);
        let cases: [(&str, Harm); 6] = [
            ("a", |root| {
                fs::write(root.join("a"), "mine").expect("a file")
            }),
            ("b", |root| {
                fs::write(root.join("b"), "mine").expect("a file")
            }),
            ("b", |root| {
                fs::remove_file(temporary(root)).expect("a file")
            }),
            ("b", |root| fs::write(temporary(root), "").expect("a file")),
            ("old/deep/c", |root| {
                fs::write(root.join("old/deep/c"), b"\xff").expect("a file");
            }),
            ("old/deep/c", |root| {
                fs::remove_dir_all(root.join("old/deep")).expect("a folder");
                fs::write(root.join("old/deep"), "").expect("a file");
            }),
        ];
        for (path, harm) in cases {
            let folder = half_done();
            harm(folder.path());
            let message = format!("cannot be finished: `{path}` changed since");
            assert_refused(folder.path(), true, &message);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_not_followed() {
        use std::os::unix::fs::symlink;
        let outside = tempfile::tempdir().expect("a folder");
        fs::create_dir(outside.path().join("deep")).expect("a folder");
        fs::write(outside.path().join("deep/c"), "old").expect("a file");
        for (path, link, to) in [
            ("old/deep/c", "old", ""),
            ("old/deep/c", "old/deep", "deep"),
            ("old/deep/c", "old/deep/c", "deep/c"),
            ("a", "a", "deep/c"),
            ("untouched/deep/c", "untouched", ""),
        ] {
            let folder = half_done();
            let link = folder.path().join(link);
            if link.is_dir() {
                fs::remove_dir_all(&link).expect("a folder")
            } else {
                drop(fs::remove_file(&link))
            }
            symlink(outside.path().join(to), &link).expect("a link");
            assert_refused(folder.path(), true, &format!("`{path}` changed since"));
        }
        let text = fs::read_to_string(outside.path().join("deep/c"));
        assert_eq!(text.expect("a file"), "old");
    }

    #[test]
    fn a_hostile_record_is_refused() {
        for (from, to, message) in [
            (
                "\"path\": \"b\"",
                "\"path\": \"../b\"",
                "`../b` leaves the project",
            ),
            (
                "\"path\": \"b\"",
                "\"path\": \"/b\"",
                "`/b` leaves the project",
            ),
            (
                "\"temporary\": \".kbr-",
                "\"temporary\": \"../.kbr-",
                "is not a temporary file",
            ),
            (
                "\"temporary\": null",
                "\"temporary\": \"b\"",
                "`b` is not a temporary file",
            ),
            ("\"is_undo\"", "\"x\"", "unknown field `x`"),
            ("{", "", "cannot be read"),
        ] {
            let folder = half_done();
            let path = folder.path().join(RECORD);
            let text = fs::read_to_string(&path).expect("a record");
            assert!(text.contains(from), "{from}: {text}");
            fs::write(&path, text.replacen(from, to, 1)).expect("a record");
            assert_refused(folder.path(), true, message);
        }
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join(RECORD)).expect("a folder");
        assert_refused(folder.path(), true, "it is not a file");
    }
}
