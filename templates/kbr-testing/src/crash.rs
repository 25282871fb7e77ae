// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Proves that an operator may fail at any of its requests: whether one is lost or the process dies there, the cluster
//! becomes what it becomes without that.
//!
//! Each scenario, such as a sample that is created, changed and deleted, runs once undisturbed. All requests of the
//! operator are written down. Then the scenario runs again for each of them and each fault, in which that fault happens
//! at that request and nothing else goes wrong. The objects must become the same, and after that the operator must write
//! nothing more, although it reconciles everything again.
//!
//! The operator is the binary of the project, in a process of its own, so that it can be killed. It reaches the API
//! server through a proxy that shows it no namespace but that of its run, so many runs share an API server. An operator
//! that writes objects without a namespace has the API server for itself: its runs happen one after another.

mod change;
mod created;
mod differs;
mod kinds;
mod life;
mod moment;
mod options;
mod predecessor;
mod proxy;
mod run;
mod stage;
mod state;

use std::fmt::{self, Debug};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Instant;

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::oneshot;

use super::builder::block_on;
use super::least_privilege::in_parallel;
use super::server::report;
use super::{TestEnv, TestEnvError};
use created::Created;
use differs::Differs;
use kinds::Kinds;
use life::Program;
use options::Options;
use run::{Case, Ground, Undisturbed, story, story_of_undisturbed};
pub use stage::Stage;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// What is proved without any scenario.
const NOTHING_TO_TRY: &str = "tests/crash.rs has no scenario, so nothing is tried: \
    add a file to SAMPLES, or write `.scenario(\"name\", function)`";

/// Proves that an operator may fail at any moment. Call it in `main` of a test target with `harness = false`.
///
/// ```no_run
/// use std::process::ExitCode;
///
/// use kbr_testing::{Crash, Stage};
///
/// fn main() -> ExitCode {
/// # let operator = "target/debug/fleet"; /*
///     let operator = env!("CARGO_BIN_EXE_fleet");
/// # */
///     Crash::new(env!("CARGO_MANIFEST_DIR"), operator)
///         .samples(&["config/samples/crew_v1_captain.yaml"])
///         .may_differ("Captain", "status.attempts", "it counts the attempts, also those that fail")
///         .scenario("two", two)
///         .run()
/// }
///
/// async fn two(stage: Stage) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
///     stage.apply("tests/crash/one.yaml").await?;
///     stage.apply("tests/crash/another.yaml").await?;
///     stage.settle().await?;
///     stage.delete("tests/crash/another.yaml").await?;
///     stage.settle().await
/// }
/// ```
pub struct Crash {
    project: PathBuf,
    program: Program,
    scenarios: Vec<Scenario>,
    differs: Vec<Arc<Differs>>,
    only: String,
    takes_over: bool,
}

struct Scenario {
    name: String,
    run: Box<dyn Fn(Stage) -> BoxFuture<'static, Result<(), BoxError>> + Send + Sync>,
}

impl Crash {
    /// For the project in the folder `project` with the binary `operator`, which is started with flags of
    /// [`kbr_runtime::Flags`].
    #[must_use]
    pub fn new(project: impl AsRef<Path>, operator: impl AsRef<Path>) -> Self {
        Self {
            project: project.as_ref().to_owned(),
            program: Program {
                path: operator.as_ref().to_owned(),
                variables: Vec::new(),
                arguments: Vec::new(),
            },
            scenarios: Vec::new(),
            differs: Vec::new(),
            only: String::new(),
            takes_over: false,
        }
    }

    /// Sets an environment variable of the operator.
    #[must_use]
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.program
            .variables
            .push((name.to_owned(), value.to_owned()));
        self
    }

    /// Tries only the runs whose line, as it is printed, contains `text`, such as the name of a fault.
    #[must_use]
    pub fn only(mut self, text: &str) -> Self {
        self.only = text.to_owned();
        self
    }

    /// Says that the controllers take over what the field manager `manager` has written
    /// ([`Controller::takes_over`](kbr_runtime::Controller::takes_over)): then that one has written not only the status
    /// before, but also each other object that the operator applies, each in a run of its own.
    #[must_use]
    pub fn takes_over(mut self) -> Self {
        self.takes_over = true;
        self
    }

    /// Leaves a field of a kind out of comparisons, for a `reason`. `path` are names of fields with dots between them,
    /// such as `status.attempts`; those of a list are fields of each of its items.
    ///
    /// Times, and what the API server makes up, are never compared. It is a failure if no object has the field in any
    /// undisturbed run, or if the reason is empty.
    #[must_use]
    pub fn may_differ(mut self, kind: &str, path: &str, reason: &str) -> Self {
        self.differs.push(Arc::new(Differs {
            kind: kind.to_owned(),
            path: path.to_owned(),
            reason: reason.to_owned(),
            is_found: AtomicBool::new(false),
        }));
        self
    }

    /// Adds a scenario for each of these files, whose paths are relative to the folder of the project: its objects are
    /// created, changed, and then deleted, after which nothing must be left.
    ///
    /// They are changed to the file of the same name in `tests/crash`, if there is one, and otherwise as
    /// [`Stage::change`] does. It is printed what has been changed.
    #[must_use]
    pub fn samples(mut self, paths: &[&str]) -> Self {
        for path in paths {
            let path = PathBuf::from(path);
            let stem = path.file_stem().unwrap_or_default();
            let name = stem.to_string_lossy().into_owned();
            self = self.scenario(&name, move |stage| sample(stage, path.clone()));
        }
        self
    }

    /// Adds a scenario: what users do, and each time that the operator should have done its part,
    /// [`Stage::settle`]. Errors are for what must not happen; return those of `settle`.
    #[must_use]
    pub fn scenario<F>(
        mut self,
        name: &str,
        run: impl Fn(Stage) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<(), BoxError>> + Send + 'static,
    {
        self.scenarios.push(Scenario {
            name: name.to_owned(),
            run: Box::new(move |stage| run(stage).boxed()),
        });
        self
    }

    /// Runs everything that the arguments of this process ask for, and prints what is wrong.
    ///
    /// `--only TEXT` tries only the runs whose line, as it is printed, contains the text; of these, `--sample N` tries
    /// only a number, and `--seed N` chooses which ones. `--jobs N` is how many runs happen at once.
    #[must_use]
    pub fn run(&self) -> ExitCode {
        // `cargo bench` starts this as well, since clippy lints it only as a benchmark: nothing is measured here.
        if std::env::args()
            .skip(1)
            .any(|argument| argument == "--bench")
        {
            return ExitCode::SUCCESS;
        }
        let outcome = Options::parse(std::env::args().skip(1)).and_then(|options| {
            if self.scenarios.is_empty() {
                show(NOTHING_TO_TRY);
                return Ok(Vec::new());
            }
            let stories = self.stories(&options);
            stories.map_err(|error| error.to_string())
        });
        match outcome {
            Ok(stories) if stories.is_empty() => ExitCode::SUCCESS,
            Ok(stories) => {
                for story in &stories {
                    show(&format!("\n{story}"));
                }
                report(&format!(
                    "make test-crash has found {} problems",
                    stories.len()
                ));
                ExitCode::FAILURE
            }
            Err(error) => {
                report(&error);
                ExitCode::FAILURE
            }
        }
    }

    /// Runs all scenarios with all faults, and returns a story for each run that has not ended as the undisturbed run:
    /// what happened, what is different, and how to repeat it.
    ///
    /// # Errors
    ///
    /// Those of [`Builder::start`](crate::Builder::start) and [`TestEnv::start_operator`].
    pub fn failures(&self) -> Result<Vec<String>, TestEnvError> {
        if self.scenarios.is_empty() {
            return Ok(vec![NOTHING_TO_TRY.to_owned()]);
        }
        self.stories(&Options::ALL)
    }

    fn stories(&self, options: &Options) -> Result<Vec<String>, TestEnvError> {
        let env = TestEnv::builder(&self.project).namespaces(1).start()?;
        let kinds = block_on(async {
            let kinds = Kinds::ask(env.admin(), &env.installed().grants).await;
            kinds.map_err(|source| {
                env.control_plane
                    .refused("a question for its kinds", source)
            })
        })?;
        let ground = Ground {
            kinds: Arc::new(kinds),
            created: Created::of(env.logs()),
            env,
        };
        thread::scope(|scope| {
            let (ready, is_ready) = mpsc::channel();
            let (stop, stopped) = oneshot::channel();
            let ready = move || {
                // It is received below.
                let _ = ready.send(());
            };
            let serve = || block_on(self.serve_webhooks(&ground, ready, stopped));
            let serving = scope.spawn(serve);
            let stories = match is_ready.recv() {
                Ok(()) => self.all_runs(&ground, options),
                // It has ended with an error.
                Err(_) => Ok(Vec::new()),
            };
            drop(stop);
            match serving.join() {
                Ok(served) => served.and(stories),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }

    fn all_runs(&self, ground: &Ground, options: &Options) -> Result<Vec<String>, TestEnvError> {
        let jobs = match ground.kinds.need_a_cluster() {
            false => options.jobs,
            true => {
                show(
                    "The operator writes objects without a namespace, so one run happens at a time",
                );
                1
            }
        };
        for Differs {
            kind, path, reason, ..
        } in self.differs.iter().map(Arc::as_ref)
        {
            show(&format!("{kind}: `{path}` is not compared: {reason}"));
        }
        let number = AtomicUsize::new(0);
        let run = |scenario: &Scenario, case: Option<&Case<'_>>| {
            let number = number.fetch_add(1, Ordering::Relaxed);
            let folder = ground.env.logs().join("crash").join(number.to_string());
            block_on(self.run_once(ground, scenario, case, &folder))
        };
        let scenarios = self.scenarios.iter();
        let wanted = scenarios.filter(|one| options.may_want(one, &self.scenarios));
        let ends = in_parallel(wanted.collect(), jobs, |scenario| {
            show(&format!("{}: undisturbed", scenario.name));
            run(scenario, None).map(|end| (scenario, end))
        });
        let (mut stories, mut undisturbed) = (Vec::new(), Vec::new());
        for end in ends {
            let (scenario, end) = end?;
            match story_of_undisturbed(scenario, &end) {
                None => undisturbed.push((scenario, Undisturbed::from(end))),
                Some(story) => stories.push(story),
            }
        }
        if stories.is_empty() && options.only.is_empty() {
            stories.extend(self.differs.iter().filter_map(|field| field.problem()));
        }
        let cases = undisturbed.iter();
        let cases = cases.flat_map(|(scenario, undisturbed)| undisturbed.cases(scenario));
        let cases = cases.filter(|case| case.to_string().contains(&self.only));
        let cases = options.choose(cases.collect());
        if cases.is_empty() && stories.is_empty() {
            let only = format!("{}{}", self.only, options.only);
            return Ok(vec![nothing_chosen(&only)]);
        }
        let (all, done) = (cases.len(), Mutex::new(0_usize));
        let ends = in_parallel(cases, jobs, |case| {
            let start = Instant::now();
            let end = run(case.scenario, Some(&case))?;
            let story = story(&case, &end);
            let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
            *done += 1;
            let verdict = match (&story, end.is_hit) {
                (Some(_), _) => "NOT the same",
                (None, true) => "the same",
                (None, false) => "the same, but the operator did not send that this time",
            };
            let seconds = start.elapsed().as_secs_f32();
            show(&format!("[{done}/{all}] {case}: {verdict}, {seconds:.1} s"));
            Ok::<_, TestEnvError>(story)
        });
        for end in ends {
            stories.extend(end?);
        }
        Ok(stories)
    }
}

/// Why no run has been tried.
fn nothing_chosen(only: &str) -> String {
    match only {
        "" => "the operator asks for nothing in any scenario, so nothing is proved".to_owned(),
        only => format!("no run has `{only}` in its line; without `--only`, all lines are printed"),
    }
}

/// What users do with a sample.
async fn sample(stage: Stage, path: PathBuf) -> Result<(), BoxError> {
    const CHANGED: &str = "tests/crash";
    stage.apply(&path).await?;
    stage.settle().await?;
    let changed = Path::new(CHANGED).join(path.file_name().unwrap_or_default());
    let changes = match stage.has(&changed) {
        true => {
            stage.apply(&changed).await?;
            vec![format!("everything that {} says", changed.display())]
        }
        false => stage.change(&path).await?,
    };
    if stage.is_undisturbed() {
        let name = path.file_stem().unwrap_or_default().display();
        match changes.is_empty() {
            true => show(&format!(
                "{name}: nothing in its spec can be changed, so the sample is only created and deleted: write {} with a change",
                changed.display()
            )),
            false => show(&format!("{name}: it is changed, {}", changes.join(", "))),
        }
    }
    if !changes.is_empty() {
        stage.settle().await?;
    }
    stage.delete(&path).await?;
    stage.settle_empty().await
}

/// Prints a line at once.
fn show(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

impl Debug for Crash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self
            .scenarios
            .iter()
            .map(|scenario| &scenario.name)
            .collect();
        let mut debug = formatter.debug_struct("Crash");
        debug
            .field("project", &self.project)
            .field("scenarios", &names)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
