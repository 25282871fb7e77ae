//! What git knows about the project in a folder.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use super::GitError;
use crate::project::PROJECT_FILE;

/// What git's history has: given a path, it looks at each commit that changed the file there, until `look` finds
/// something. The error is why there may be more than it has.
pub(crate) type History<'a> = &'a dyn Fn(&str, Look<'_>) -> Result<Option<String>, GitError>;

/// Is given the text of a file in a commit, and a function that returns another file of that commit.
pub(crate) type Look<'a> = &'a dyn Fn(&str, &dyn Fn(&str) -> Option<String>) -> Option<String>;

/// Texts of files, by their paths.
pub(crate) type Files = BTreeMap<String, String>;

/// What git prints, or says about its failure, with these words, separated by spaces, and more arguments.
fn git(root: &Path, words: &str, more: &[&str]) -> Result<Result<String, String>, GitError> {
    let mut git = Command::new("git");
    git.args(words.split(' ').chain(more.iter().copied()));
    let output = super::output(git.current_dir(root).env("LC_ALL", "C"));
    output.map_err(|source| GitError::Missing { source })
}

/// The output of a git command that must succeed.
fn text(root: &Path, words: &str, more: &[&str]) -> Result<String, GitError> {
    git(root, words, more)?.map_err(|reason| {
        if reason.contains("not a git repository") {
            let dir = root.to_owned();
            return GitError::NoRepository { dir };
        }
        let command = words.split(' ').next().unwrap_or_default().to_owned();
        GitError::Failed { command, reason }
    })
}

/// The files of a project that git could not restore: those with uncommitted changes, and those of `places`
/// that git ignores, or the ignored folders that they are in.
pub(crate) fn uncommitted(root: &Path, places: &BTreeSet<String>) -> Result<Vec<String>, GitError> {
    const STATUS: &str =
        "status --porcelain -z --no-renames --untracked-files=normal --ignored=matching -- .";
    let prefix = text(root, "rev-parse --show-prefix", &[])?;
    let files = text(root, STATUS, &[])?;
    // Each path follows two letters and a space, and begins at the top of the repository.
    let entries = files.split_terminator('\0');
    let files = entries.filter_map(|entry| {
        let (status, whole) = entry.split_at_checked(3)?;
        let path = whole.strip_prefix(prefix.trim_end()).unwrap_or(whole);
        let is_place = |it: &String| it == path || path.ends_with('/') && it.starts_with(path);
        (status != "!! " || places.iter().any(is_place)).then(|| path.to_owned())
    });
    Ok(files.collect())
}

/// The files of a commit in the project at `root`: PROJECT, those in `folder`, and `file` if it exists.
pub(crate) fn committed(
    root: &Path,
    git_ref: &str,
    folder: &str,
    file: &str,
) -> Result<Files, GitError> {
    const VERIFY: &str = "rev-parse --verify --quiet --end-of-options";
    text(root, "rev-parse --git-dir", &[])?;
    let named = git_ref.to_owned();
    // With this suffix, git takes no reference for an option.
    let found = git(root, VERIFY, &[&format!("{git_ref}^{{commit}}")])?.unwrap_or_default();
    let commit = found.trim();
    if commit.is_empty() {
        return Err(GitError::UnknownRef { git_ref: named });
    }
    let places = [commit, PROJECT_FILE, folder, file];
    let listed = text(root, "ls-tree -z --name-only", &places)?;
    let paths: Vec<&str> = listed.split_terminator('\0').collect();
    if !paths.contains(&PROJECT_FILE) {
        return Err(GitError::NoProject { git_ref: named });
    }
    let texts = paths.into_iter().map(|path| {
        let text = text(root, "show", &[&format!("{commit}:./{path}")])?;
        Ok((path.to_owned(), text))
    });
    texts.collect()
}

/// Returns what `look` finds in an earlier commit that changed a file, of any branch, or before the file was moved to its
/// present path: given the file's text, and a function that returns another file of that commit. `None` if it finds
/// nothing, or if there is no history; an error if it found nothing and there may be more history than this git can see.
pub(crate) fn history(root: &Path, path: &str, look: Look<'_>) -> Result<Option<String>, GitError> {
    let found = find(root, path, |id, text| {
        look(&text, &|other| shown(root, &format!("{id}:./{other}")))
    });
    if found.is_some() {
        return Ok(found);
    }
    match git(root, "rev-parse --is-shallow-repository", &[]) {
        Err(error) if is_in_repository(root) => Err(error),
        Ok(Ok(answer)) if answer.trim() == "true" => Err(GitError::Shallow {
            path: path.to_owned(),
        }),
        _ => Ok(None),
    }
}

/// Whether a folder above has a repository, without git.
fn is_in_repository(root: &Path) -> bool {
    let absolute = std::path::absolute(root).unwrap_or_default();
    absolute.ancestors().any(|it| it.join(".git").exists())
}

/// The text of a file of a commit, given as `COMMIT:PATH`.
fn shown(root: &Path, file: &str) -> Option<String> {
    git(root, "show", &[file]).ok()?.ok()
}

/// Returns what `look` finds in a commit that changed the file, and the file's text there.
fn find<T>(root: &Path, path: &str, look: impl Fn(&str, String) -> Option<T>) -> Option<T> {
    // Whatever the user's configuration says.
    const LOG: &str = "-c core.quotePath=false -c log.showRoot=true -c diff.relative=false log -m \
                       -O/dev/null --name-only --format=%x00%H";
    let histories: [&[&str]; 2] = [&["--all", "--full-history"], &["--follow"]];
    histories.into_iter().find_map(|history| {
        let log = git(root, LOG, &[history, &["--", path]].concat());
        let log = log.ok()?.ok()?;
        // A hash, an empty line, and the path from the top of the repository.
        let mut places = log
            .split('\0')
            .filter_map(|entry| entry.trim().split_once("\n\n"));
        places.find_map(|(commit, path)| look(commit, shown(root, &format!("{commit}:{path}"))?))
    })
}
