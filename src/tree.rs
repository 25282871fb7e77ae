//! The only module that reads a project: its files on disk as a value, path → entry.
//!
//! It reads only the root and the folders that kbr writes to or reads from, and no huge file, so that
//! `target/` and a repository's other contents cost little. Symbolic links are recorded, never followed:
//! their targets may be outside of the project.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::IoError;
use crate::templates;

/// Folders whose parent is not read otherwise: other vendored code and other build output do not belong to kbr.
const PARTS: [(&str, &[&str]); 3] = [
    ("bundle", &["manifests", "metadata"]),
    ("dist", &["chart"]),
    ("third_party", &["kbr-runtime", "kbr-testing"]),
];

/// The file that cargo puts into a folder of build output, which is not read. The folder's name is no
/// proof: a module may be called `target` as well.
const BUILD_OUTPUT: &str = "CACHEDIR.TAG";

/// The files of folders whose sources are not the project's: of build output, of a project, of a downloaded crate.
const APART: [&str; 3] = [BUILD_OUTPUT, "PROJECT", ".cargo-checksum.json"];

/// Largest file that is read as text, in bytes. kbr writes nothing of that size, but a repository's
/// root may contain anything.
const LARGEST: u64 = 8 * 1024 * 1024;

/// The prefix of the names of kbr's temporary files, and of its record of what it is about to do.
pub(crate) const TEMPORARY: &str = ".kbr-";

/// What exists at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Entry {
    File(String),
    Folder,
    /// A symbolic link, whatever its target.
    Link,
    /// Something that exists and is not read as text, with the reason.
    Opaque(&'static str),
}

impl Entry {
    /// The text of a file, or why there is none.
    pub(crate) fn text(&self) -> Result<&str, &'static str> {
        match self {
            Self::File(text) => Ok(text),
            Self::Folder => Err("is a folder"),
            Self::Link => Err("is a symbolic link"),
            Self::Opaque(why) => Err(why),
        }
    }
}

/// The files of one project, by path relative to its root, with `/` between the parts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tree {
    entries: BTreeMap<String, Entry>,
}

impl Tree {
    /// Reads the project below `root`; a folder that does not exist gives an empty tree.
    pub(crate) fn load(root: &Path) -> Result<Self, IoError> {
        let mut tree = Self::default();
        // Every command writes below the folders that `kbr init` creates, and to the bundle, the chart and the vendored crates.
        let folders: BTreeSet<&str> = templates::init_folders().collect();
        for (name, path) in children(root)? {
            if path.is_dir() && !path.is_symlink() && !folders.contains(name.as_str()) {
                if let Some((_, wanted)) = PARTS.iter().find(|(parent, _)| *parent == name) {
                    let mut below = children(&path)?;
                    below.retain(|(child, _)| wanted.contains(&child.as_str()));
                    for (child, path) in below {
                        tree.read(format!("{name}/{child}"), &path)?;
                    }
                }
                tree.entries.insert(name, Entry::Folder);
            } else {
                tree.read(name, &path)?;
            }
        }
        Ok(tree)
    }

    /// The folders in the root whose files are read.
    pub(crate) fn folders() -> impl Iterator<Item = &'static str> {
        templates::init_folders()
    }

    /// Also reads the folders of these files, which an earlier kbr has written.
    pub(crate) fn read_also<'a>(
        &mut self,
        root: &Path,
        files: impl Iterator<Item = &'a str>,
    ) -> Result<(), IoError> {
        let folders: BTreeSet<&str> = files
            .filter_map(|path| Some(path.split_once('/')?.0))
            .collect();
        let parts = PARTS.map(|(parent, _)| parent).into_iter();
        let known: BTreeSet<&str> = templates::init_folders().chain(parts).collect();
        for name in folders.difference(&known) {
            if self.entry(name) == Some(&Entry::Folder) {
                self.read((*name).to_owned(), &root.join(name))?;
            }
        }
        Ok(())
    }

    /// Also reads the Rust sources in all other folders, and the manifests of their packages, if they are wanted. A folder
    /// that is a project of its own is not entered, nor one with build output or with what cargo has downloaded.
    pub(crate) fn read_sources(
        &mut self,
        root: &Path,
        is_wanted: &dyn Fn(&str) -> bool,
    ) -> Result<(), IoError> {
        // A folder without a manifest belongs to the package around it, and at the top to none.
        let mut folders = vec![(String::new(), root.to_owned(), is_wanted(""))];
        while let Some((prefix, folder, mut wanted)) = folders.pop() {
            let children = children(&folder)?;
            let is_apart = |(name, _): &(String, PathBuf)| APART.contains(&name.as_str());
            if !prefix.is_empty() && children.iter().any(is_apart) {
                continue;
            }
            let manifest = children.iter().find(|(name, _)| name == "Cargo.toml");
            if let Some((_, path)) = manifest.filter(|_| !prefix.is_empty())
                && path.is_file()
            {
                wanted = read_text(path)?.is_some_and(|text| is_wanted(&text));
            }
            for (name, path) in children {
                let relative = format!("{prefix}{name}");
                let found = fs::symlink_metadata(&path).map_err(IoError::at("read", &path))?;
                if found.is_dir() && !name.starts_with('.') && name != "node_modules" {
                    folders.push((format!("{relative}/"), path, wanted));
                } else if found.is_file()
                    && wanted
                    && found.len() <= LARGEST
                    && (name.ends_with(".rs") || name == "Cargo.toml")
                    && !self.entries.contains_key(&relative)
                    && let Some(text) = read_text(&path)?
                {
                    self.entries.insert(relative, Entry::File(text));
                }
            }
        }
        Ok(())
    }

    fn read(&mut self, name: String, path: &Path) -> Result<(), IoError> {
        let found = fs::symlink_metadata(path).map_err(IoError::at("read", path))?;
        let kind = found.file_type();
        if kind.is_dir() {
            let mut children = children(path)?;
            if children.iter().any(|(child, _)| child == BUILD_OUTPUT) {
                children.clear();
            }
            for (child, path) in children {
                self.read(format!("{name}/{child}"), &path)?;
            }
        }
        let entry = match () {
            () if kind.is_dir() => Entry::Folder,
            () if kind.is_symlink() => Entry::Link,
            () if kind.is_file() && found.len() <= LARGEST => {
                read_text(path)?.map_or(Entry::Opaque("is not UTF-8"), Entry::File)
            }
            () if kind.is_file() => Entry::Opaque("is larger than 8 MiB"),
            () => Entry::Opaque("is not a regular file"),
        };
        self.entries.insert(name, entry);
        Ok(())
    }

    /// What exists at `path`, if anything does.
    pub(crate) fn entry(&self, path: &str) -> Option<&Entry> {
        self.entries.get(path)
    }

    /// The text of the file at `path`, if there is one.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.entries.get(path)?.text().ok()
    }

    /// The paths that exist and were not read, each with the reason.
    pub(crate) fn unread(&self) -> impl Iterator<Item = (&str, &'static str)> {
        let entries = self.entries();
        let entries = entries.filter(|(_, entry)| **entry != Entry::Folder);
        entries.filter_map(|(path, entry)| Some((path, entry.text().err()?)))
    }

    /// The text files, in the order of their paths.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.entries()
            .filter_map(|(path, entry)| Some((path, entry.text().ok()?)))
    }

    /// Everything that exists, in the order of the paths.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&str, &Entry)> {
        let entries = self.entries.iter();
        entries.map(|(path, entry)| (path.as_str(), entry))
    }
}

/// These files, in their folders.
impl<'a> FromIterator<(&'a str, &'a str)> for Tree {
    fn from_iter<I: IntoIterator<Item = (&'a str, &'a str)>>(files: I) -> Self {
        let mut entries = BTreeMap::new();
        for (path, text) in files {
            for (end, _) in path.match_indices('/') {
                entries.insert(path[..end].to_owned(), Entry::Folder);
            }
            entries.insert(path.to_owned(), Entry::File(text.to_owned()));
        }
        Self { entries }
    }
}

impl<const N: usize> From<[(&str, &str); N]> for Tree {
    fn from(files: [(&str, &str); N]) -> Self {
        files.into_iter().collect()
    }
}

/// The text files below `root` that are wanted, by path, without symbolic links and huge files: a project of another
/// kind, which kbr only reads. A folder is entered only if `is_entered` says so of its path.
pub(crate) fn read_foreign(
    root: &Path,
    is_entered: fn(&str) -> bool,
    is_wanted: fn(&str) -> bool,
) -> Result<BTreeMap<String, String>, IoError> {
    let mut files = BTreeMap::new();
    let mut folders = vec![(String::new(), root.to_owned())];
    while let Some((prefix, folder)) = folders.pop() {
        for (name, path) in children(&folder)? {
            let found = fs::symlink_metadata(&path).map_err(IoError::at("read", &path))?;
            let relative = format!("{prefix}{name}");
            if found.is_dir() && is_entered(&relative) {
                folders.push((format!("{relative}/"), path));
            } else if found.is_file() && found.len() <= LARGEST && is_wanted(&relative) {
                let text = read_text(&path)?;
                files.extend(text.map(|text| (relative, text)));
            }
        }
    }
    Ok(files)
}

/// Returns the nearest folder that has a file called `name`, among `folder` and its ancestors, and the
/// file's text. If `folder` does not exist yet, the search starts at its nearest existing ancestor.
pub(crate) fn find_above(folder: &Path, name: &str) -> Option<(PathBuf, String)> {
    let absolute = std::path::absolute(folder).ok()?;
    let existing = absolute
        .ancestors()
        .find_map(|it| fs::canonicalize(it).ok())?;
    existing.ancestors().find_map(|folder| {
        let text = read_text(&folder.join(name)).ok()??;
        Some((folder.to_owned(), text))
    })
}

/// The file's text, or `None` if it is not UTF-8.
pub(crate) fn read_text(path: &Path) -> Result<Option<String>, IoError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(None),
        Err(error) => Err(IoError::at("read", path)(error)),
    }
}

/// A file or a folder that was named on the command line, and may be outside of the project.
#[derive(Debug)]
pub(crate) struct Given {
    /// As it was typed.
    pub(crate) path: String,
    pub(crate) is_folder: bool,
    /// The files with an ending of YAML or JSON below it, or the file itself, by their paths; without a text if they are not UTF-8.
    pub(crate) files: Vec<(String, Option<String>)>,
}

/// Reads a file, or the files below a folder that may have Kubernetes objects. The path is relative to `root`.
///
/// Hidden files and folders are not read, nor links to folders, which may lead back.
pub(crate) fn given(root: &Path, path: &str) -> Result<Given, IoError> {
    let place = root.join(path);
    let found = fs::metadata(&place).map_err(IoError::at("read", &place))?;
    let mut given = Given {
        path: path.to_owned(),
        is_folder: found.is_dir(),
        files: Vec::new(),
    };
    if given.is_folder {
        objects_below(&place, path.trim_end_matches('/'), &mut given.files)?
    } else {
        given.files.push((path.to_owned(), read_text(&place)?))
    }
    Ok(given)
}

/// The path in the same folder whose name is most similar to that of a path that does not exist.
pub(crate) fn near(root: &Path, path: &str) -> Option<String> {
    let typed = Path::new(path);
    let (folder, name) = (typed.parent()?, typed.file_name()?.to_str()?);
    let found = children(&root.join(folder)).ok()?.into_iter();
    let possible = found.filter(|(other, path)| path.is_dir() || is_object(other));
    let similar = possible.map(|(other, _)| (strsim::jaro_winkler(name, &other), other));
    let (similarity, other) = similar.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (similarity > 0.85).then(|| folder.join(other).display().to_string())
}

/// Whether a file of that name may contain objects.
pub(crate) fn is_object(name: &str) -> bool {
    let endings = [".yaml", ".yml", ".json"];
    endings.iter().any(|ending| name.ends_with(ending))
}

fn objects_below(
    folder: &Path,
    name: &str,
    files: &mut Vec<(String, Option<String>)>,
) -> Result<(), IoError> {
    let mut children = children(folder)?;
    children.retain(|(name, _)| !name.starts_with('.'));
    children.sort();
    for (child, path) in children {
        let name = format!("{name}/{child}");
        if path.is_dir() && !path.is_symlink() {
            objects_below(&path, &name, files)?;
        } else if is_object(&child) && path.is_file() {
            let text = read_text(&path)?;
            files.push((name, text));
        }
    }
    Ok(())
}

/// Name and path of everything in a folder, except names that are not UTF-8, which are not kbr's.
fn children(folder: &Path) -> Result<Vec<(String, PathBuf)>, IoError> {
    let listing = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        listing => listing.map_err(IoError::at("read", folder))?,
    };
    let mut children = Vec::new();
    for child in listing {
        let child = child.map_err(IoError::at("read", folder))?;
        if let Ok(name) = child.file_name().into_string()
            && !name.starts_with(TEMPORARY)
        {
            children.push((name, child.path()));
        }
    }
    Ok(children)
}
