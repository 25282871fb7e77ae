//! Command lines, and what they plan in various projects.

mod create;
mod rename;

use std::ffi::OsString;
use std::sync::LazyLock;

use super::names::{NAMES, name};
use super::plans::{FRESH, Files, Judge, tree};
use super::project::project;
use super::random::Random;
use super::{Words, fuzz};
use crate::cli::{Cli, Command, Known};
use crate::commands::external::tests::CRDS;
use crate::commands::tests::{Bench, planned};
use crate::project::PROJECT_FILE;
use crate::report::Problem;

/// The words of a line, apart from names.
static WORDS: Words = Words::new(|| {
    "init·create·api·webhook·policy·manifests·docs·envtest·use·path·list·clean·completion·bash·\
     version·help·edit·delete·rename·kind·group·--domain·--project-name·--repo·--license·\
     --certificates·self-managed·cert-manager·\
     --owner·--namespaced·--kind·--to·--group·--version·--plural·--resource·--controller·\
     --force·--mutating·--validating·--defaulting·--programmatic-validation·--conversion·--spoke·--defaulting-path·\
     --validation-path·--check·--dry-run·--diff·--verbose·--output·--color·-C·json·text·always·never·\
     auto·apache2·none·true·false·--resource=false·--controller=false·--namespaced=false·\
     --namespaced=true·--spoke=v1,v2·--·-··=·--=·--kind=·--help·-h·-V·--from-source·--index"
        .split('·')
        .collect()
});

/// Lines that make the projects in which others are tried.
const HISTORIES: [&[&str]; 6] = [
    &["init --domain example.com --project-name bench"],
    &[
        "init --domain example.com --project-name bench --license none --namespaced",
        "create api --kind Foo",
    ],
    &[
        "init --domain example.com --project-name bench --owner Me",
        "create api --kind Foo --group batch --version v1",
        "create webhook --kind Foo --group batch --version v1 --defaulting --programmatic-validation",
    ],
    &[
        "init --domain example.com --project-name bench",
        "create api --kind Foo",
        "create api --kind Foo --version v1 --controller=false",
        "create webhook --kind Foo --conversion --spoke v1",
        "create policy --kind Foo --validating",
    ],
    &[
        "init --domain example.com --project-name bench",
        "create webhook --group core --version v1 --kind Pod --defaulting",
    ],
    &[
        "init --domain example.com --project-name bench",
        "create api --kind Redis --plural redises --namespaced=false",
        "create api --kind Policy --controller=false",
        "create api --kind Foo --version v2beta3",
    ],
];

/// Various projects.
pub(crate) static PROJECTS: LazyLock<Vec<Bench>> = LazyLock::new(|| {
    let project = |lines: &&[&str]| {
        let lines = lines.iter();
        lines.fold(Bench::default(), |bench, line| bench.after(line))
    };
    let mut projects: Vec<Bench> = HISTORIES.iter().map(project).collect();
    for project in &mut projects {
        project.edit("crds.yaml", CRDS);
    }
    projects
});

/// A value for an option, most often one of `good`, which `·` separates.
fn value(random: &mut Random, good: &str) -> String {
    let good: Vec<&str> = good.split('·').collect();
    match random.below(20) {
        0 => name(random),
        1 => {
            let value = random.pick(&good);
            random.mutate(value, &NAMES)
        }
        _ => random.pick(&good).to_owned(),
    }
}

struct Line {
    words: Vec<String>,
}

impl Line {
    fn of(command: &str) -> Self {
        Self {
            words: command.split(' ').map(str::to_owned).collect(),
        }
    }

    /// Adds an option in one of `of` cases.
    fn option(&mut self, random: &mut Random, of: usize, option: &str, good: &str) {
        if !random.one_in(of) {
            return;
        }
        let value = value(random, good);
        if random.one_in(2) {
            self.words.push(format!("{option}={value}"));
        } else {
            self.words.extend([option.to_owned(), value]);
        }
    }

    fn flag(&mut self, random: &mut Random, of: usize, flag: &str) {
        if random.one_in(of) {
            self.words.push(flag.to_owned());
        }
    }
}

fn init(random: &mut Random) -> Line {
    let mut line = Line::of("init");
    line.option(random, 1, "--domain", "example.com·x·a-b.io·1.2");
    line.option(
        random,
        2,
        "--project-name",
        "cronjob·a·my-operator·zzz·null",
    );
    line.option(
        random,
        4,
        "--repo",
        "https://github.com/a/b·ssh://git@host/a",
    );
    line.option(random, 3, "--license", "apache2·none");
    line.option(random, 4, "--owner", "Me·Jörg \"J\" & Söhne·{{x}}·\\·*/");
    line.flag(random, 3, "--namespaced");
    if random.one_in(3) {
        line.words.push(value(random, "folder·sub/folder"));
    }
    line
}

const GROUPS: &str = "batch··core·apps·foo.policy·networking";
const KINDS: &str = "Foo·Bar·CronJob·Redis·Policy·Pod·HTTPProxy·On·Certificate";
const VERSIONS: &str = "v1·v1alpha1·v2·v2beta3·v10·v999999999";
const BOOLEANS: &str = "true·false";

/// A line, program name first, that is valid or nearly valid.
pub(crate) fn line(random: &mut Random) -> Vec<OsString> {
    let mut line = match random.below(10) {
        0 => init(random),
        1..=3 => create::api(random),
        4 | 5 => create::webhook(random),
        6 => Line::of("manifests"),
        7 => rename::any(random),
        8 => create::policy(random),
        _ => Line {
            words: (0..random.below(6))
                .map(|_| random.pick(&WORDS).to_owned())
                .collect(),
        },
    };
    line.flag(random, 6, "--dry-run");
    line.flag(random, 8, "--diff");
    line.option(random, 8, "--output", "json·text");
    line.option(random, 12, "--color", "always·never·auto");
    let mut words: Vec<OsString> = line.words.into_iter().map(OsString::from).collect();
    if random.one_in(4) {
        for _ in 0..=random.below(3) {
            spoil(random, &mut words);
        }
    }
    words.insert(0, "kbr".into());
    words
}

/// Changes one word of a line, or its position.
fn spoil(random: &mut Random, words: &mut Vec<OsString>) {
    let at = random.below(words.len());
    let other = random.below(words.len());
    let count = words.len();
    match random.below(6) {
        0 => words.insert(at, random.pick(&WORDS).into()),
        1 => words.insert(at, name(random).into()),
        _ if count == 0 => {}
        2 => drop(words.remove(at)),
        3 => words.swap(at, other),
        4 => {
            let text = words[at].to_string_lossy().into_owned();
            words[at] = random.mutate(&text, &WORDS).into();
        }
        _ => words[at] = no_unicode(random, &words[at]),
    }
}

#[cfg(unix)]
fn no_unicode(random: &mut Random, word: &std::ffi::OsStr) -> OsString {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let mut bytes = word.as_bytes().to_vec();
    bytes.insert(random.below(bytes.len() + 1), 0xff);
    OsString::from_vec(bytes)
}

#[cfg(not(unix))]
fn no_unicode(_: &mut Random, word: &std::ffi::OsStr) -> OsString {
    word.to_owned()
}

/// The files that exist when a line is typed; most often as kbr left them.
fn files(random: &mut Random, command: &Command) -> Files {
    let mut files = match command {
        Command::Init(_) if random.one_in(2) => FRESH.clone(),
        Command::Init(_) => Files::new(),
        _ => PROJECTS[random.below(PROJECTS.len())].files.clone(),
    };
    if random.one_in(8) && !matches!(command, Command::Rename(_)) {
        let at = random.below(files.len());
        if let Some((_, text)) = files.iter_mut().nth(at) {
            *text = random.mutate(
                text,
                &[
                    "// +kbr:scaffold:modules\n",
                    "# +kbr:scaffold:samples\n",
                    "mod a;\n",
                ],
            );
        }
    }
    if files.contains_key(PROJECT_FILE) && random.one_in(8) {
        files.insert(PROJECT_FILE.to_owned(), project(random));
    }
    files
}

#[test]
fn command_lines_plan_what_can_be() {
    let mut judge = Judge::default();
    fuzz("command_lines", 120, 1, |random| {
        let line = line(random);
        random.input(&line);
        let cli = match Cli::of(&line, &Known::default()) {
            Ok(cli) => cli,
            Err(error) => {
                assert!(!error.to_string().is_empty());
                return false;
            }
        };
        let files = files(random, &cli.command);
        let may_change = matches!(cli.command, Command::Rename(_));
        let project = files.get(PROJECT_FILE).cloned();
        random.input((&line, project));
        let plan = match planned(cli, &tree(&files)) {
            None => return true,
            Some(Ok(plan)) => plan,
            Some(Err(error)) => {
                assert!(!error.to_string().is_empty());
                let problems = Problem::all(&error);
                assert!(
                    problems.iter().all(|problem| !problem.code.is_empty()),
                    "{error}"
                );
                assert!(!problems.is_empty(), "{error}");
                return false;
            }
        };
        judge.check(&plan, may_change);
        if random.one_in(16) {
            assert!(plan.changing().all(|step| !step.diff().is_empty()));
        }
        true
    });
}
