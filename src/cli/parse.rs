//! Parses the command line into a [`Cli`], with checks that clap cannot make itself.

use std::any::TypeId;
use std::ffi::OsString;
use std::iter::successors;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches};

use crate::error::join;
use crate::names::{Kind, Version};

use super::{
    BundleArgs, ChartArgs, Cli, Command, DocsArgs, ManifestsArgs, Mode, Output, PLANNING,
    UpdateArgs, help, hints,
};

/// The global options of commands that plan changes.
const OF_PLANS: [&str; 4] = ["dry_run", "diff", "verbose", "output"];

/// The names in PROJECT, which need not follow the conventions for new ones.
#[derive(Debug, Default, Clone)]
pub(crate) struct Known {
    pub(crate) kinds: Vec<String>,
    pub(crate) versions: Vec<String>,
}

impl Cli {
    /// Parses the command line, whose first argument is the program name; fails with clap's usage error, in which a word
    /// that is no kind is corrected to one that is known.
    pub(crate) fn of(args: &[OsString], known: &Known) -> Result<Self, clap::Error> {
        let mut known = known.clone();
        let texts = args.iter().filter_map(|arg| arg.to_str());
        if texts.clone().any(|text| text.starts_with("--external-api")) {
            // Another operator may call its types as it likes.
            let words: Vec<String> = texts.flat_map(|it| it.split('=')).map(Into::into).collect();
            known.kinds.extend_from_slice(&words);
            known.versions.extend(words);
        }
        let mut kbr = with_names(Self::kbr(), "", &known);
        let parsed = kbr.clone().try_get_matches_from(args);
        let parsed = parsed.map_err(|error| hints::with_hint(error, &kbr, args))?;
        let mut cli = Self::from_arg_matches(&parsed).map_err(|error| error.format(&mut kbr))?;
        let words = successors(parsed.subcommand(), |(_, inner)| inner.subcommand());
        let words: Vec<&str> = words.map(|(word, _)| word).collect();
        cli.name = words.join(" ");
        if let Command::Man { command } = &cli.command
            && Self::command_of(command).is_none()
        {
            return Err(help::unknown_command(&kbr, command));
        }
        if let Command::Help { words } = &cli.command
            && let Some(shown) = help::instead(words)
        {
            return Err(shown);
        }
        match cli.misuse() {
            Some(message) => Err(kbr.error(ErrorKind::ArgumentConflict, message)),
            None => Ok(cli),
        }
    }

    /// clap's description of kbr: a help that fits a terminal, and in that of each command only options that it accepts.
    pub(crate) fn kbr() -> clap::Command {
        let kbr = Self::command();
        let others = kbr.get_subcommands().map(clap::Command::get_name);
        let others: Vec<String> = others
            .filter(|name| !PLANNING.contains(name))
            .map(str::to_owned)
            .collect();
        let options = kbr.get_arguments();
        let hidden: Vec<clap::Arg> = options
            .filter(|option| OF_PLANS.contains(&option.get_id().as_str()))
            .map(|option| option.clone().hide(true))
            .collect();
        let overview = help::overview(&kbr);
        let kbr = kbr.help_template("{about-with-newline}\n{usage-heading} {usage}{after-help}");
        others.iter().fold(kbr.after_help(overview), |kbr, name| {
            let refused = hidden.iter().filter(|option| {
                // `kbr dev` has JSON of its own.
                name != "dev" || option.get_id() != "output"
            });
            let refused: Vec<clap::Arg> = refused.cloned().collect();
            kbr.mut_subcommand(name, |command| command.args(refused))
        })
    }

    /// clap's description of a command, such as `create api`, or of kbr itself if `words` is empty.
    pub(crate) fn command_of(words: &[String]) -> Option<clap::Command> {
        let mut kbr = Self::kbr();
        kbr.build();
        words
            .iter()
            .try_fold(kbr, |command, word| command.find_subcommand(word).cloned())
    }

    /// Checks what clap cannot: it parses global options independently of the command.
    fn misuse(&self) -> Option<String> {
        if self.dry_run && self.mode() == Mode::Check {
            return Some("the argument '--check' cannot be used with '--dry-run'".to_owned());
        }
        let options = [
            ("--dry-run", self.dry_run),
            ("--diff", self.diff),
            ("--verbose", self.verbose),
            (
                "--output json",
                self.output == Output::Json && !matches!(self.command, Command::Dev(_)),
            ),
        ];
        let (option, _) = options.into_iter().find(|(_, is_typed)| *is_typed)?;
        if self.plans() {
            return None;
        }
        let (last, commands) = PLANNING.split_last()?;
        let commands = join(commands, ", ", |command| format!("'{command}'"));
        Some(format!(
            "'{option}' can only be used with {commands} and '{last}'"
        ))
    }

    /// Whether the command works on a project's files.
    pub(crate) fn plans(&self) -> bool {
        let first = self.name.split(' ').next();
        first.is_some_and(|first| PLANNING.contains(&first))
    }

    pub(crate) fn mode(&self) -> Mode {
        match &self.command {
            Command::Manifests(ManifestsArgs { check: true, .. })
            | Command::Docs(DocsArgs { check: true })
            | Command::Chart(ChartArgs { check: true })
            | Command::Bundle(BundleArgs { check: true, .. })
            | Command::Update(UpdateArgs { check: true, .. }) => Mode::Check,
            _ if self.dry_run => Mode::DryRun,
            _ => Mode::Apply,
        }
    }
}

/// The description of a command that accepts these kinds and versions too, and corrects a word that means one of the kinds;
/// `of` are its words. A type that is created, or gets another name, may have every name that Kubernetes and Rust accept.
fn with_names(command: clap::Command, of: &str, known: &Known) -> clap::Command {
    let command = command.mut_subcommands(|inner| {
        let words = format!("{of} {}", inner.get_name());
        with_names(inner, words.trim_start(), known)
    });
    command.mut_args(|option| {
        let is_new = of == "create api" || of.starts_with("rename ") && option.get_id() == "to";
        let (kinds, versions) = (known.kinds.clone(), known.versions.clone());
        let type_id = option.get_value_parser().type_id();
        match () {
            () if type_id == TypeId::of::<Kind>() => {
                let parse = if is_new { Kind::created } else { Kind::typed };
                option.value_parser(move |text: &str| parse(text, &kinds))
            }
            () if type_id == TypeId::of::<Version>() => {
                let parse = if is_new {
                    Version::created
                } else {
                    Version::typed
                };
                option.value_parser(move |text: &str| parse(text, &versions))
            }
            () => option,
        }
    })
}

/// The folder that a command line names with `-C`, which may have been refused.
pub(crate) fn directory(args: &[OsString]) -> PathBuf {
    let mut words = args.iter().skip(1);
    let named = words.find_map(|word| {
        let rest = word.to_str()?.strip_prefix("-C")?;
        Some(rest.trim_start_matches('=').to_owned())
    });
    match named {
        Some(rest) if !rest.is_empty() => rest.into(),
        Some(_) => words.next().map(PathBuf::from).unwrap_or_default(),
        None => PathBuf::new(),
    }
}
