//! `kbr envtest use` provides the binaries that are not installed yet, and only those.
//!
//! First come the three that the archives contain, downloaded or, if the download is unreachable, built.
//! Then comes kube-controller-manager. Each source installs its binaries when all of them are complete, so
//! that a failed build does not discard a successful download.

use std::ffi::OsString;

use super::lock;
use crate::cli::EnvtestUseArgs;
use crate::commands::error::{Error, Result};
use crate::envtest::{
    self, Binary, Downloaded, EnvtestError, Go, INDEX, Index, KUBERNETES, LockedStore, Platform,
    Recipe, Store, Version, Work, names,
};
use crate::report::Report;
use crate::toolchain::{self, GoRun};

/// Installs what is missing of `wanted`.
pub(super) fn provide(
    store: &Store,
    args: &EnvtestUseArgs,
    wanted: &[Binary],
    report: &Report,
) -> Result<()> {
    let locked = lock(store, report)?;
    if let Some(found) = store.complete(args.version, wanted)? {
        report.note("Unchanged", &found.folder.display().to_string());
        return Ok(());
    }
    // It does no harm if something cannot be removed now; `kbr envtest clean` reports why.
    let _ = locked.sweep();
    let provider = Provider {
        store,
        locked,
        args,
        report,
        platform: Platform::here(),
    };
    let version = match store.complete(args.version, &Binary::SERVER)? {
        Some(found) => found.version,
        None if args.from_source => envtest::newest(args.version)?,
        None => provider.download()?,
    };
    let missing = envtest::missing_in(&store.folder(version), wanted);
    if missing.is_empty() {
        return Ok(());
    }
    provider.build(version, &missing)
}

struct Provider<'a> {
    store: &'a Store,
    locked: LockedStore<'a>,
    args: &'a EnvtestUseArgs,
    report: &'a Report,
    platform: Platform,
}

impl Provider<'_> {
    /// Installs the archive of the requested version, and returns that version. If the
    /// official download is unreachable, installs nothing, warns, and returns the version to
    /// build. A mirror that the user specified must be reachable.
    fn download(&self) -> Result<Version> {
        let url = self.args.index.as_deref().unwrap_or(INDEX);
        self.report.status("Fetching", url);
        let Some(index) = self.reached(Index::fetch(url))? else {
            return Ok(envtest::newest(self.args.version)?);
        };
        let (version, archive) = index.find(self.args.version, &self.platform)?;

        self.report.status("Downloading", &archive.url);
        let missing = envtest::missing_in(&self.store.folder(version), &Binary::SERVER);
        let work = self.locked.work()?;
        let mut progress = self.report.progress("Downloading");
        let fetched = archive.fetch(&missing, &work, &mut |done, total| {
            progress.show(|| megabytes(done, total));
        });
        drop(progress);
        if self.reached(fetched)?.is_some() {
            self.install(version, &work)?;
        }
        Ok(version)
    }

    /// What was downloaded, or `None` with a warning.
    fn reached<T>(&self, result: Result<T, EnvtestError>) -> Result<Option<T>> {
        match result {
            Err(error @ EnvtestError::Unreachable { .. }) if self.args.index.is_none() => {
                self.report.warn(&error.to_string());
                Ok(None)
            }
            result => Ok(Some(result?)),
        }
    }

    /// Builds and installs the binaries that are `missing`.
    fn build(&self, version: Version, missing: &[Binary]) -> Result<()> {
        let work = self.locked.work()?;
        self.report.status(
            "Building",
            &format!(
                "{} of Kubernetes {version} from source: about 12 minutes on two cores, and 5 GB in \
                 {} until it is done",
                names(missing),
                work.path().display()
            ),
        );
        let recipe = self.recipe(version, &work)?;
        let to = work.binaries()?;
        for (at, &binary) in missing.iter().enumerate() {
            let (name, label) = (binary.0, recipe.label(binary));
            let count = format!("({} of {})", at + 1, missing.len());
            self.report
                .status("Building", &format!("{name} {label} {count}"));
            let (folder, args) = recipe.build(binary, &to);
            let mut progress = self.report.progress("Building");
            let (mut modules, mut packages) = (0, 0);
            let run = self.go(&work, folder, &args, &mut |line| {
                if line.starts_with("go: downloading ") {
                    modules += 1;
                } else if envtest::is_progress(line) {
                    packages += 1;
                }
                progress.show(|| {
                    format!("{name}: {modules} modules fetched, {packages} packages compiled")
                });
            })?;
            drop(progress);
            if !run.is_success {
                let command = format!("build {}", envtest::package(binary));
                return Err(failed(&command, run.messages, &work));
            }
        }
        self.install(version, &work)
    }

    /// Reads Kubernetes' go.mod after Go has fetched it, and writes the modules to build from.
    fn recipe(&self, version: Version, work: &Work) -> Result<Recipe> {
        work.create_folder(envtest::TEMPORARY)?;
        let folder = KUBERNETES;
        work.write(folder, "go.mod", &envtest::empty_module(folder))?;
        let ask = ["env", "-json", "GOVERSION", "GOTOOLCHAIN"];
        let run = self.go(work, folder, &ask.map(OsString::from), &mut |_| {})?;
        if !run.is_success {
            return Err(failed("env", run.messages, work));
        }
        let go: Go = serde_json::from_str(&run.stdout).unwrap_or_default();

        let module = format!("k8s.io/kubernetes@v{version}");
        self.report.status("Fetching", &module);
        let ask = ["mod", "download", "-json", &module];
        let run = self.go(work, folder, &ask.map(OsString::from), &mut |_| {})?;
        let answer: Downloaded = serde_json::from_str(&run.stdout).unwrap_or_default();
        let Some(go_mod) = answer.go_mod else {
            let output = answer.error.unwrap_or(run.messages);
            return Err(failed(&format!("mod download {module}"), output, work));
        };
        let recipe = Recipe::parse(version, &envtest::read(&go_mod)?)?;
        go.check(&recipe)?;
        for (folder, text) in recipe.modules() {
            work.write(folder, "go.mod", &text)?;
        }
        Ok(recipe)
    }

    fn go(
        &self,
        work: &Work,
        folder: &str,
        args: &[OsString],
        each: &mut dyn FnMut(&str),
    ) -> Result<GoRun> {
        let variables = envtest::environment(work.path(), &self.platform);
        let mut each = |line: &str| {
            each(line);
            envtest::is_progress(line)
        };
        let missing = |source| EnvtestError::GoMissing { source };
        let module = work.path().join(folder);
        let run = toolchain::go(&module, &variables, args, &mut each, missing)?;
        Ok(run)
    }

    fn install(&self, version: Version, work: &Work) -> Result<()> {
        let word = if self.store.folder(version).exists() {
            "Updated"
        } else {
            "Created"
        };
        let folder = self.locked.install(version, work)?;
        self.report.status(word, &folder.display().to_string());
        Ok(())
    }
}

fn failed(command: &str, output: String, work: &Work) -> Error {
    EnvtestError::GoFailed {
        command: command.to_owned(),
        output: output.replace('\t', "  "),
        work: work.path().to_owned(),
    }
    .into()
}

/// The progress of a download, in units of a million bytes.
fn megabytes(done: u64, total: Option<u64>) -> String {
    const MEGABYTE: u64 = 1_000_000;
    match total {
        Some(total) => format!("{} of {} MB", done / MEGABYTE, total.div_ceil(MEGABYTE)),
        None => format!("{} MB", done / MEGABYTE),
    }
}
