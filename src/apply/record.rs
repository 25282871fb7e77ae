//! What kbr is about to do, on the disk: if it is killed half-way, the next kbr finishes that.
//!
//! The record is written once all new texts lie beside their destinations, and removed when all of
//! them are renamed; it is there whole or not at all. It is read as hostile input, since it may come
//! with somebody's repository: paths stay in the project and go through no link, temporary files
//! have kbr's names, and a text that is neither the one before nor the one after stays.

use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::plan::{Outcome, Plan, Step, hash};
use crate::project::is_inside;
use crate::tree::read_text;

use super::{Staged, Undo};
use super::{is_temporary_name, lock, put, remove_emptied, sweep, write_beside};

/// Where the record stands. [`crate::tree`] takes it for none of the project's files, by its name.
pub const RECORD: &str = ".kbr-plan";

/// The command that was typed, and what is told once it is done.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Typed {
    /// Its name, such as `create api`.
    pub command: String,
    /// All of it, where typing it again must not do it again.
    pub line: Option<String>,
    pub warnings: Vec<String>,
    pub next: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
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
    /// The hash of the text before, if there was one.
    before: Option<String>,
    /// The hash of the text to be, unless the file goes.
    after: Option<String>,
    /// The name of the file beside it that has the text to be.
    temporary: Option<String>,
}

/// What a kbr that was killed had begun, and this one has finished.
pub struct Finished {
    pub typed: Typed,
    pub is_undo: bool,
    pub plan: Plan,
}

impl Record {
    pub(super) fn of(plan: &Plan, staged: &[Staged], typed: &Typed) -> Self {
        let steps = plan.steps.iter();
        let file = |step| Recorded::of(step, staged, &step.before, &step.after);
        Self {
            typed: typed.clone(),
            is_undo: false,
            files: steps.map(file).collect(),
        }
    }

    /// The way back for the files that are staged; the others are listed for their folders.
    pub(super) fn of_undo(plan: &Plan, staged: &[Staged], typed: Typed) -> Self {
        let is_done = |step: &Step| staged.iter().any(|it| it.step.path == step.path);
        let file = |step: &Step| match is_done(step) {
            true => Recorded::of(step, staged, &step.after, &step.before),
            false => Recorded::of(step, staged, &step.before, &step.before),
        };
        Self {
            typed,
            is_undo: true,
            files: plan.steps.iter().rev().map(file).collect(),
        }
    }

    /// Trusts neither the paths nor what is to be printed.
    fn checked(mut self) -> std::result::Result<Self, String> {
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
                let name = name.escape_debug();
                return Err(format!("`{name}` is no temporary file of kbr's"));
            }
        }
        Ok(self)
    }
}

impl Recorded {
    fn of(step: &Step, staged: &[Staged], before: &Option<String>, after: &Option<String>) -> Self {
        let staged = staged.iter().find(|it| it.step.path == step.path);
        let temporary = staged.and_then(|it| it.temporary.as_ref()?.file_name());
        Self {
            path: step.path.clone(),
            outcome: step.outcome,
            before: before.as_deref().map(hash),
            after: after.as_deref().map(hash),
            temporary: temporary.map(|name| name.to_string_lossy().into_owned()),
        }
    }

    /// Whether the file has still to be changed; an error's path where that cannot be.
    fn is_left(&self, root: &Path) -> std::result::Result<bool, String> {
        if self.before == self.after {
            return Ok(false);
        }
        let other = |()| self.path.clone();
        let now = text_below(root, &self.path).map_err(other)?;
        if now == self.after {
            return Ok(false);
        }
        let is_ready = match &self.temporary {
            Some(name) => {
                let beside = Path::new(&self.path).with_file_name(name);
                let text = text_below(root, &beside.to_string_lossy()).map_err(other)?;
                text.is_some() && text == self.after
            }
            None => self.after.is_none(),
        };
        match now == self.before && is_ready {
            true => Ok(true),
            false => Err(self.path.clone()),
        }
    }
}

/// The hash of the file's text, or nothing where there is no file; refused where something else
/// stands there, or a link on the way.
fn text_below(root: &Path, path: &str) -> std::result::Result<Option<String>, ()> {
    let folders: Vec<&Path> = Path::new(path).ancestors().skip(1).collect();
    for folder in folders.into_iter().rev() {
        match fs::symlink_metadata(root.join(folder)) {
            // The root itself may be reached through a link.
            Ok(_) if folder.as_os_str().is_empty() => {}
            Ok(found) if found.is_dir() => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            _ => return Err(()),
        }
    }
    let path = root.join(path);
    match fs::symlink_metadata(&path) {
        Ok(found) if found.is_file() => match read_text(&path) {
            Ok(Some(text)) => Ok(Some(hash(&text))),
            _ => Err(()),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        _ => Err(()),
    }
}

/// Writes the record in the place of the one that is there, if one is.
pub(super) fn write(root: &Path, record: &Record, undo: &mut Undo) -> Result<()> {
    let path = root.join(RECORD);
    let text = serde_json::to_string_pretty(record).map_err(io::Error::from);
    let text = text.map_err(Error::io("write", &path))? + "\n";
    let temporary = write_beside(&path, &text).map_err(Error::io("write", &path))?;
    undo.temporaries.push(temporary.clone());
    put(&path, Some(&temporary))
}

pub(super) fn remove(root: &Path) -> Result<()> {
    put(&root.join(RECORD), None)
}

/// Finishes what a kbr that was killed had begun in the folder `root`, if one was. A kbr that is at
/// work is waited for.
pub fn finish(root: &Path, may_write: bool) -> Result<Option<Finished>> {
    if fs::symlink_metadata(root.join(RECORD)).is_err() {
        return Ok(None);
    }
    let alone = lock(root);
    let Some(record) = read(root)? else {
        return Ok(None);
    };
    let command = record.typed.command.clone();
    if !may_write {
        return Err(Error::HalfDone { command });
    }
    let (mut left, mut others) = (Vec::new(), Vec::new());
    for file in &record.files {
        match file.is_left(root) {
            Ok(true) => left.push(file),
            Ok(false) => {}
            Err(path) => others.push(path.escape_debug().to_string()),
        }
    }
    if !others.is_empty() {
        return Err(Error::CannotFinish {
            command,
            files: others,
        });
    }
    for file in left {
        let path = root.join(&file.path);
        let temporary = file
            .temporary
            .as_ref()
            .map(|name| path.with_file_name(name));
        put(&path, temporary.as_deref())?;
    }
    if alone.is_some() {
        sweep(root, record.files.iter().map(|file| file.path.as_str()));
    }
    for file in record.files.iter().filter(|file| file.after.is_none()) {
        remove_emptied(root, &root.join(&file.path), &mut Vec::new())?;
    }
    remove(root)?;
    let steps = record.files.into_iter();
    let steps = steps.map(|file| Step::carried_out(file.path, file.outcome));
    Ok(Some(Finished {
        typed: record.typed,
        is_undo: record.is_undo,
        plan: Plan {
            steps: steps.collect(),
        },
    }))
}

/// The record, unless it is gone by now.
fn read(root: &Path) -> Result<Option<Record>> {
    let path = root.join(RECORD);
    let unreadable = |reason: String| Error::RecordUnreadable { reason };
    let text = match fs::symlink_metadata(&path) {
        Ok(found) if found.is_file() => read_text(&path)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        _ => return Err(unreadable("it is no file".to_owned())),
    };
    let text = text.ok_or_else(|| unreadable("it is not UTF-8".to_owned()))?;
    let record: Record =
        serde_json::from_str(&text).map_err(|error| unreadable(error.to_string()))?;
    record.checked().map(Some).map_err(unreadable)
}
