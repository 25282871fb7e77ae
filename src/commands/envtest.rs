//! `kbr envtest`: the folder of binaries for tests against a real API server.
//!
//! Needs no project. The folder in KUBEBUILDER_ASSETS belongs to the user: kbr checks it, and
//! otherwise uses it unchanged.

mod provide;

use std::path::{Path, PathBuf};

use crate::cli::{Envtest, EnvtestUseArgs};
use crate::commands::error::{Error, Result};
use crate::envtest::{self, ASSETS, Binary, EnvtestError, LockedStore, Selector, Store, argument};
use crate::error::join;
use crate::report::Report;

pub(crate) fn run(root: &Path, args: &Envtest, report: &Report) -> Result<()> {
    match args {
        Envtest::Use(args) => install(root, args, report),
        Envtest::Path { version } => {
            let folder = match assets(root, &Binary::SERVER)? {
                Some(folder) => folder,
                None => path(&Store::open()?, *version)?,
            };
            report.output([folder.as_os_str().as_encoded_bytes(), b"\n"].concat());
            Ok(())
        }
        Envtest::List => list(&Store::open()?, report),
        Envtest::Clean { version } => clean(root, &Store::open()?, *version, report),
    }
}

fn install(root: &Path, args: &EnvtestUseArgs, report: &Report) -> Result<()> {
    let wanted = if args.with_controller_manager {
        &Binary::ALL[..]
    } else {
        &Binary::SERVER[..]
    };
    if let Some(folder) = assets(root, wanted)? {
        let text = format!("{}, which {ASSETS} names", folder.display());
        report.note("Using", &text);
        return Ok(());
    }
    let store = Store::open()?;
    match store.complete(args.version, wanted)? {
        Some(found) => report.note("Unchanged", &found.folder.display().to_string()),
        None => provide::provide(&store, args, wanted, report)?,
    }
    let version = argument(args.version);
    let next = format!("export {ASSETS}=\"$(kbr envtest path{version})\"");
    report.note("Next", &next);
    Ok(())
}

/// The folder from the user's environment, which must contain the binaries `wanted`.
fn assets(root: &Path, wanted: &[Binary]) -> Result<Option<PathBuf>> {
    let Some(folder) = envtest::assets().map(|folder| from_root(root, folder)) else {
        return Ok(None);
    };
    let missing = envtest::missing_in(&folder, wanted);
    if missing.is_empty() {
        return Ok(Some(folder));
    }
    Err(Error::Envtest(EnvtestError::Assets { folder, missing }))
}

/// A path from the user's environment, as seen from where kbr was started.
fn from_root(root: &Path, path: PathBuf) -> PathBuf {
    if root == Path::new(".") {
        path
    } else {
        root.join(path)
    }
}

fn path(store: &Store, selector: Selector) -> Result<PathBuf> {
    if let Some(found) = store.complete(selector, &Binary::SERVER)? {
        return Ok(found.folder);
    }
    let newest = store.matching(Some(selector))?.into_iter().next();
    Err(Error::Envtest(match newest {
        Some(found) => EnvtestError::Incomplete {
            selector,
            missing: envtest::missing_in(&found.folder, &Binary::SERVER),
            folder: found.folder,
        },
        None => EnvtestError::NotInstalled {
            selector,
            folder: store.versions_folder(),
        },
    }))
}

fn list(store: &Store, report: &Report) -> Result<()> {
    let installed = store.installed()?;
    if installed.is_empty() {
        let folder = store.versions_folder();
        report.note("Empty", &folder.display().to_string());
    }
    for found in installed {
        let mut names = join(&envtest::binaries_in(&found.folder), ",", |it| {
            it.0.to_owned()
        });
        if names.is_empty() {
            names = "nothing".to_owned();
        }
        let missing = envtest::missing_in(&found.folder, &Binary::SERVER);
        let mark = if missing.is_empty() {
            ""
        } else {
            " (incomplete)"
        };
        let (version, platform) = (found.version, found.platform);
        let folder = found.folder.display();
        report.output(format!("{version}-{platform}  {names}{mark}  {folder}\n"));
    }
    Ok(())
}

fn clean(root: &Path, store: &Store, selector: Option<Selector>, report: &Report) -> Result<()> {
    let kept = envtest::assets().map(|folder| from_root(root, folder));
    let is_kept = |folder: &Path| {
        kept.as_ref()
            .is_some_and(|kept| envtest::is_same(kept, folder))
    };
    let locked = lock(store, report)?;
    let mut is_untouched = true;
    for left in locked.sweep()? {
        report.status("Removed", &left.display().to_string());
        is_untouched = false;
    }
    for found in store.matching(selector)? {
        let folder = found.folder.display();
        if is_kept(&found.folder) {
            report.note("Kept", &format!("{folder}, which {ASSETS} names"));
        } else {
            locked.remove(&found)?;
            report.status("Removed", &folder.to_string());
        }
        is_untouched = false;
    }
    if is_untouched {
        let folder = store.versions_folder();
        let text = format!("nothing to remove in {}", folder.display());
        report.note("Unchanged", &text);
    }
    Ok(())
}

/// Locks the cache, and waits until others have released it.
fn lock<'a>(store: &'a Store, report: &Report) -> Result<LockedStore<'a>> {
    Ok(store.lock(|path| {
        let text = format!("for another kbr, which holds {}", path.display());
        report.note("Waiting", &text);
    })?)
}
