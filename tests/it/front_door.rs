//! What a visitor sees first: the help, the list of created files, and the word that was meant.

use std::process::{Command, Stdio};

use crate::support::Sandbox;
use crate::support::crdgen::{Project, described};
use crate::support::terminal::printed;
use crate::support::types::fine::Fine;

fn kbr(folder: &Sandbox, line: &str) -> Command {
    let mut kbr = Command::new(env!("CARGO_BIN_EXE_kbr"));
    kbr.args(line.split_whitespace())
        .current_dir(folder.path())
        .stdin(Stdio::null());
    kbr
}

/// Without colours and other codes of a terminal.
fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

#[test]
fn the_help_fits_a_terminal_of_24_lines() {
    let sandbox = Sandbox::new();
    for line in ["--help", "-h", "help"] {
        let help = sandbox.kbr(line).success().stdout;
        let count = help.lines().count();
        assert!(
            count <= 23,
            "{line} has {count} lines, and a prompt follows"
        );
        for line in help.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
        assert!(help.contains("help topics"), "{help}");
    }
}

#[test]
fn init_fits_a_terminal_of_24_lines_and_lists_every_file_elsewhere() {
    let folder = Sandbox::new();
    let shown = plain(&printed(kbr(&folder, "init a --domain example.com"), 40));
    assert!(shown.lines().count() <= 22, "{shown}");
    assert!(shown.contains("     Created config/ ("), "{shown}");
    assert!(shown.contains("     Created ./ ("), "{shown}");
    assert!(shown.ends_with("kbr create api --kind KIND\n"), "{shown}");
    // Each line fits a narrow terminal too, except the command that is to be copied.
    let files = shown.lines().filter(|line| !line.contains("Next"));
    assert!(
        files.clone().all(|line| line.chars().count() <= 40),
        "{shown}"
    );

    let all = folder.kbr("init b --domain example.com").success().stderr;
    assert!(all.lines().count() > 60, "{all}");
    let verbose = printed(kbr(&folder, "init c --domain example.com --verbose"), 40);
    assert_eq!(plain(&verbose).replace("cd c", "cd b"), all);
    let planned = printed(kbr(&folder, "init d --domain example.com --dry-run"), 40);
    assert_eq!(
        planned.lines().count(),
        all.lines().count(),
        "a dry run shows all"
    );
    let json = folder
        .kbr("init e --domain example.com --output json")
        .success();
    assert_eq!(json.stderr, "");
    assert!(
        json.stdout.matches("\"path\"").count() > 60,
        "{}",
        json.stdout
    );

    // What is not longer than a terminal is listed file by file.
    let mut create = kbr(&folder, "create api --kind CronJob --resource --controller");
    create.current_dir(folder.path().join("a"));
    let shown = plain(&printed(create, 80));
    assert!(
        shown.contains("Created api/src/v1alpha1/cronjob_types.rs\n"),
        "{shown}"
    );
}

#[test]
fn a_terminal_shows_colours_unless_no_color_is_set() {
    let folder = Sandbox::new();
    for line in ["--help", "init a --domain example.com"] {
        let coloured = printed(kbr(&folder, line), 40);
        assert!(coloured.contains("\x1b["), "{line}");
        let mut without = kbr(&folder, &line.replace("init a", "init b"));
        without.env("NO_COLOR", "1");
        let without = printed(without, 40);
        assert!(!without.contains("\x1b["), "{without}");
        assert_eq!(plain(&coloured).replace("cd a", "cd b"), without, "{line}");
    }
    for line in ["--help", "frobnicate", "help topics"] {
        let run = folder.kbr(line);
        assert!(!(run.stdout + &run.stderr).contains('\x1b'), "{line}");
    }
}

/// As in `kbr help topics | head -0`.
#[test]
fn output_into_a_closed_pipe_is_no_error() {
    let folder = Sandbox::with_project();
    folder.kbr("create api --kind Bar").success();
    for line in [
        "--help",
        "help topics",
        "help types",
        "man",
        "completion bash",
        "version",
        "delete api --kind Bar --dry-run --output json",
        "create api --kind Foo --dry-run --diff",
    ] {
        let mut command = kbr(&folder, line);
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        command.stdout(writer).stderr(Stdio::piped());
        let ended = command.output().expect("kbr runs");
        let stderr = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(0), "{line}: {stderr}");
        assert!(!stderr.contains("panicked"), "{stderr}");
    }
}

#[test]
fn help_shows_the_options_that_a_command_accepts_and_no_others() {
    let sandbox = Sandbox::new();
    let options = ["--dry-run", "--diff", "--verbose", "--output"];
    let commands = [
        ("init", true),
        ("create api", true),
        ("import crd", true),
        ("import project", true),
        ("docs", true),
        ("manifests", true),
        ("update", true),
        ("dev", false),
        ("envtest list", false),
        ("envtest use", false),
        ("completion", false),
        ("man", false),
        ("help", false),
        ("version", false),
    ];
    for (command, is_accepted) in commands {
        let help = sandbox.kbr(&format!("{command} --help")).success().stdout;
        for option in options {
            let is_accepted = is_accepted || (command, option) == ("dev", "--output");
            let is_shown =
                help.contains(&format!("{option} ")) || help.contains(&format!("{option}\n"));
            assert_eq!(is_shown, is_accepted, "{option} of `{command}`:\n{help}");
        }
    }
    for line in [
        "version --dry-run",
        "envtest list --diff",
        "man --verbose",
        "help types --output json",
        "dev --dry-run",
    ] {
        let run = sandbox.kbr(line);
        assert_eq!(run.code(), Some(2), "{line}");
        let text = run.stdout + &run.stderr;
        assert!(
            text.contains("can only be used with 'init'"),
            "{line}: {text}"
        );
    }
}

#[test]
fn docs_say_that_they_compile_before_cargo_does() {
    let project = Project::of(&[described::<Fine>()]);
    for line in ["docs --dry-run", "manifests --dry-run"] {
        let stderr = project.kbr(line).success().stderr;
        let first = stderr.lines().next().unwrap_or_default();
        assert!(
            first.starts_with("   Compiling the API types"),
            "{line}: {stderr}"
        );
    }
}

/// Words of other tools, and commands that were misspelt, each with what to type.
#[test]
fn an_unknown_command_says_what_to_type() {
    let sandbox = Sandbox::with_project();
    let makefile = sandbox.read("Makefile");
    let rows = [
        ("generate", "`kbr manifests`"),
        ("new", "`kbr init --domain DOMAIN`"),
        ("add", "`kbr create api --kind KIND`"),
        ("run", "`kbr dev`"),
        ("alpha generate", "`kbr update`"),
        ("test", "`make test`"),
        ("build", "`make docker-build`"),
        ("deploy", "`make deploy`"),
        ("undeploy", "`make undeploy`"),
        ("install", "`make install`"),
        ("uninstall", "`make uninstall`"),
        ("lint", "`make lint`"),
        ("fmt", "`make fmt`"),
        ("helm", "`kbr chart`"),
        ("olm", "`kbr bundle`"),
        ("remove", "`kbr delete`"),
        ("manifest", "`kbr manifests`"),
        ("docss", "`kbr docs`"),
        (
            "create controller",
            "`kbr create api --kind KIND --resource=false`",
        ),
        ("create webhooks", "`kbr create webhook`"),
        ("create create", "`kbr create api`"),
        ("-C create generate", "`kbr manifests`"),
        ("generate bundle", "`kbr bundle`"),
        ("remove api", "`kbr delete api`"),
        ("webhook", "`kbr create webhook --kind KIND`"),
        ("delete kind", "`kbr delete controller`"),
        ("rename kinds", "`kbr rename kind`"),
        ("import crds", "`kbr import crd`"),
        ("envtest install", "`kbr envtest use`"),
        ("man manifest", "`kbr man manifests`"),
    ];
    for (line, advice) in rows {
        let stderr = sandbox.kbr(line).refused_with(2);
        assert!(stderr.contains(advice), "{line}: {stderr}");
        let words = advice.trim_matches('`');
        if let Some(goal) = words.strip_prefix("make ") {
            assert!(makefile.contains(&format!("\n{goal}:")), "{advice}");
        }
        if let Some(command) = words.strip_prefix("kbr ") {
            let command = command.split(" --").next().unwrap_or_default();
            sandbox.kbr(&format!("{command} --help")).success();
        }
    }
    let stderr = sandbox.kbr("frobnicate").refused_with(2);
    assert!(!stderr.contains("tip:"), "{stderr}");
}

#[test]
fn an_unknown_topic_says_at_most_three_near_ones() {
    let sandbox = Sandbox::new();
    for (typed, near) in [
        ("webhok", "`kbr help webhooks`"),
        ("kustomise", "`kbr help deploying`"),
        ("generate", "`kbr help manifests`"),
        ("finalizr", "`kbr help runtime-finalizers`"),
        ("idempotent", "`kbr help "),
        ("xyzzy", "`kbr help topics`"),
    ] {
        let stderr = sandbox.kbr(&format!("help {typed}")).refused_with(2);
        assert!(stderr.contains(near), "{typed}: {stderr}");
        let offered = stderr.split('`').skip(1).step_by(2);
        let mut count = 0;
        for command in offered {
            sandbox
                .kbr(command.strip_prefix("kbr ").expect("kbr"))
                .success();
            count += 1;
        }
        assert!(count <= 4, "{stderr}");
    }
    for (synonym, title) in [
        ("finalizer", "# Finalizers"),
        ("leader election", "# Replicas"),
        ("quickstart", "# First operator"),
        ("install", "# Deploying"),
        ("reconcile", "# Reconcile"),
        ("make", "# Commands"),
        ("webhook", "# Webhooks"),
        ("policy", "# Policies"),
        ("status", "# Status"),
    ] {
        let printed = sandbox.kbr(&format!("help {synonym}")).success().stdout;
        assert!(printed.starts_with(title), "{synonym}: {printed}");
    }
}

/// Each line is refused with a message that has the word that was meant; with that word, it is accepted.
#[test]
fn each_error_has_the_word_that_was_meant() {
    const TYPE: &str = "--group crew --version v1 --kind Captain";
    let project = Sandbox::with_project();
    for line in [
        &format!("create api {TYPE}"),
        "create api --group crew --version v2 --kind Captain",
        "create api --group crew --version v1 --kind Sailor",
        "create webhook --group crew --version v1 --kind Sailor --programmatic-validation",
        "create policy --group crew --version v1 --kind Sailor --validating",
        "edit --multigroup",
        "create api --kind SeaPort",
    ] {
        project.kbr(line).success();
    }
    let rows = [
        (
            "create api --group crew --version v1 --kind ",
            "job-set",
            "JobSet",
        ),
        (
            "create api --group crew --kind JobSet --version ",
            "1",
            "v1",
        ),
        (
            "create api --version v1 --kind JobSet --group ",
            "Crew",
            "crew",
        ),
        (
            "create api --group crew --version v3 --kind ",
            "CAptain",
            "Captain",
        ),
        (
            "create api --group crew --kind JobSet --plural ",
            "Jobsets",
            "jobsets",
        ),
        (
            "create api --group crew --kind JobSet --image ",
            "Redis:8",
            "redis:8",
        ),
        (
            "create api --group crew --version v1 --kind Captain --resource=false --controller-name ",
            "Cron_Backup",
            "cron-backup",
        ),
        (
            "create api --resource=false --version v1 --kind Deployment --group ",
            "app",
            "apps",
        ),
        (
            "create webhook --group crew --version v1 --defaulting --kind ",
            "Captains",
            "Captain",
        ),
        (
            "create webhook --group crew --version v1 --defaulting --kind ",
            "Sailr",
            "Sailor",
        ),
        (
            "create webhook --version v1 --kind Captain --defaulting --group ",
            "crw",
            "crew",
        ),
        (
            "create webhook --group crew --kind Captain --defaulting --version ",
            "v3",
            "v1",
        ),
        (
            "create webhook --group crew --version v1 --kind Captain --conversion --spoke ",
            "v3",
            "v2",
        ),
        (
            "create webhook --group crew --version v1 --kind Captain --defaulting --defaulting-path ",
            "mutate-it",
            "/mutate-it",
        ),
        (
            "create policy --group crew --version v1 --validating --kind ",
            "Captains",
            "Captain",
        ),
        ("delete api --kind ", "seaport", "SeaPort"),
        (
            "create webhook --defaulting --kind ",
            "sea-ports",
            "SeaPort",
        ),
        ("rename kind --to Harbour --kind ", "seaPort", "SeaPort"),
        (
            "delete webhook --group crew --version v1 --programmatic-validation --kind ",
            "Sailors",
            "Sailor",
        ),
        (
            "delete policy --group crew --version v1 --validating --kind ",
            "Salior",
            "Sailor",
        ),
        (
            "create webhook --group crew --version v1 --kind Captain --programmatic-validation --validation-path ",
            "/Check",
            "/check",
        ),
        (
            "rename kind --group crew --kind Captain --to Timer --plural ",
            "Timers",
            "timers",
        ),
        (
            "rename kind --group crew --to Timer --kind ",
            "CAptain",
            "Captain",
        ),
        (
            "rename kind --group crew --kind Captain --to ",
            "egg-timer",
            "EggTimer",
        ),
        ("rename version --group crew --to v4 --version ", "v3", "v2"),
        ("rename version --group crew --version v2 --to ", "4", "v4"),
        ("rename group --to ship --group ", "crw", "crew"),
        ("rename group --group crew --to ", "Ship", "ship"),
        ("edit --project-name ", "My_Fleet", "my-fleet"),
        ("edit --certificates ", "certmanager", "cert-manager"),
    ];
    for (line, typed, meant) in rows {
        check(&project, line, typed, meant);
    }
    let groups = Sandbox::new();
    groups
        .kbr("init --domain example.com --project-name a --multigroup")
        .success();
    groups.write(
        "crds/things.yaml",
        include_str!("../schemas/import/crds/things.yaml"),
    );
    check(
        &groups,
        "import crd ",
        "crds/thing.yaml",
        "crds/things.yaml",
    );

    let one = Sandbox::with_project();
    one.kbr(&format!("create api {TYPE}")).success();
    for (line, typed, meant) in [
        ("create api --kind JobSet --group ", "crw", "crew"),
        (
            "delete controller --group crew --version v1 --kind ",
            "Captian",
            "Captain",
        ),
        (
            "delete controller --version v1 --kind Captain --group ",
            "crw",
            "crew",
        ),
    ] {
        check(&one, line, typed, meant);
    }

    let empty = Sandbox::new();
    for (line, typed, meant) in [
        ("init a --domain ", "Example.com", "example.com"),
        ("init a --domain ", "https://example.com/", "example.com"),
        (
            "init a --domain example.com --project-name ",
            "My_Fleet",
            "my-fleet",
        ),
        (
            "init a --domain example.com --license ",
            "apache",
            "apache2",
        ),
        (
            "init a --domain example.com --certificates ",
            "certmanager",
            "cert-manager",
        ),
    ] {
        check(&empty, line, typed, meant);
    }
}

#[track_caller]
fn check(folder: &Sandbox, line: &str, typed: &str, meant: &str) {
    let run = folder.kbr(&format!("{line}{typed} --dry-run"));
    assert!(run.code().is_some_and(|code| code > 0), "{line}{typed}");
    let advice = advice(&run.stderr);
    let mut words = advice.split(|c: char| c.is_whitespace() || "`',".contains(c));
    let is_said = words.any(|word| word == meant);
    assert!(is_said, "{line}{typed}: {}", run.stderr);
    folder.kbr(&format!("{line}{meant} --dry-run")).success();
}

/// What an error advises: the help, a tip of clap, or the end of the first line. Not what the error quotes.
fn advice(stderr: &str) -> String {
    let is_advice = |line: &&str| {
        let line = line.trim_start();
        line.starts_with("help: ") || line.starts_with("tip: ")
    };
    let helps: String = stderr.lines().filter(is_advice).collect();
    let first = stderr.lines().next().unwrap_or_default();
    let end = first.rsplit_once("; ").map_or("", |(_, end)| end);
    helps + " " + end
}

/// Somebody typed the domain in kubebuilder, and objects of that group exist.
#[test]
fn a_group_that_ends_in_the_domain_is_refused_when_typed_and_imported_when_it_exists() {
    let project = Sandbox::with_project();
    let near = project
        .kbr("create api --kind Foo --group crew.example.com")
        .refused_with(1);
    assert!(near.contains("type `--group crew`"), "{near}");
    let things = include_str!("../schemas/import/crds/things.yaml");
    let group = things.split("group: ").nth(1).expect("a group");
    let group = group.split_whitespace().next().expect("a group");
    let group = group.trim_matches('"');
    let doubled = things.replace(group, "shop.example.com.example.com");
    project.write("things.yaml", &doubled);
    project.kbr("import crd things.yaml").success();
    project
        .kbr("create api --kind Foo --group shop.example.com")
        .success();
    let near = project
        .kbr("rename group --group shop.example.com --to store.example.com")
        .refused_with(1);
    assert!(near.contains("type `--to store`"), "{near}");
}

/// A near kind that already has the webhook is no advice: the command would be refused again.
#[test]
fn a_kind_for_which_the_command_would_be_refused_is_not_suggested() {
    let project = Sandbox::with_project();
    project.kbr("create api --kind CronJob").success();
    let other = "create webhook --group bath --kind CronJob --defaulting";
    let near = project.kbr(other).refused_with(1);
    assert!(!near.contains("kbr create api"), "it exists: {near}");
    let line = "create webhook --defaulting --kind CronJobs";
    let near = project.kbr(line).refused_with(1);
    assert!(
        near.contains("type `--version v1alpha1 --kind CronJob`"),
        "{near}"
    );
    project
        .kbr("create webhook --kind CronJob --defaulting")
        .success();
    let near = project.kbr(line).refused_with(1);
    assert!(
        !near.contains("type `--version v1alpha1 --kind CronJob`"),
        "{near}"
    );
    assert!(
        near.contains("PROJECT has `--version v1alpha1 --kind CronJob`"),
        "{near}"
    );
}
