//! kbr scaffolds Kubernetes operators in Rust, and makes their manifests from their code.
//!
//! This page is the architecture: how data flows, which module does what, and what is
//! deliberately absent. The binary calls [`run`]; nothing else is for others to use.
//!
//! # The flow
//!
//! Data flows one way. These arrows are the lines of [`commands`]:
//!
//! ```text
//! argv ──cli──▶ arguments ─┐
//!                          ├──▶ what is wanted ──plan──▶ Plan ──┬──apply──▶ disk ──┐
//! disk ──tree─▶ Tree ──────┤    (a list of changes)             ├──check──▶ drift ─┼──▶ report
//!      └─project─▶ Project ┤                                    └──dry run─────────┘
//! code ──toolchain──▶ crdgen's JSON (manifests and docs only)
//! Cargo.toml ──toolchain──▶ the same with a crate more or less (types of other operators only)
//! ```
//!
//! 1. [`cli`] turns what was typed into values, with a hint for what only kubebuilder has; a name that has
//!    a form is parsed by [`names`].
//! 2. [`tree`] reads the folders that `kbr init` makes, [`project`] makes a model of the PROJECT file.
//! 3. [`commands::init`], [`commands::create_api`], [`commands::create_webhook`],
//!    [`commands::delete`], [`commands::edit`], [`commands::rename`], [`commands::manifests`] and
//!    [`commands::docs`] say what is wanted, as a list of
//!    [`plan::Change`]s: files rendered by [`templates`], each from a type of its own, lines for a [`marker`], documents of
//!    [`manifests`]. [`scaffold`] is all that a project model needs: a command's part of it is the
//!    difference between the models before and after, one way to create and the other to delete. Paths
//!    come from [`layout`], names of deployed objects from [`names::objects`], the lock file from [`lock`], the crate
//!    that each project holds from [`vendored`].
//! 4. [`plan`] compares that with the tree: the text before and after of each file, or every reason
//!    why it cannot be done.
//! 5. [`apply`] makes it so, or leaves everything as it was; `--dry-run` and `--check` stop before that.
//!    While files change it has a record of them in `.kbr-plan`, by which the next kbr finishes the work
//!    of one that was killed, before it reads anything.
//! 6. [`report`] tells the user, as text or as JSON, and knows the exit code.
//!
//! From 4 on all commands that plan are one: they give [`commands`] a value, with the changes, the
//! warnings and the next command to type, and `commands::run` has one ending for it. A module that plans
//! imports none of that, but [`commands::wanted`].
//!
//! # Who owns a file
//!
//! A change says so. `Create` makes a file that is the user's from then on. `Keep` does too, unless one exists.
//! `Generate` writes a file that stays kbr's and says so in its first line. `Insert` puts one line above a
//! scaffold marker of the user's file, and `TakeOut` takes it away again. `Remove` deletes what kbr once
//! generated and no longer produces, or a file of the user's that is no longer needed. `Leave` leaves such a
//! file because its owner edited it: PROJECT records a hash of each file as it was rendered, which tells an
//! untouched file from an edited one. The lines above scaffold markers that the scaffold has put there are left
//! out of it, so that it is the same on every branch. The vendored crate has checksums of its own, and every
//! command names what was edited there.
//!
//! # Manifests
//!
//! CRDs come from compiled types: the project's own `crdgen` prints, through [`toolchain`], what `crd()` says
//! outside of the schema and the type's definitions, not inlined. [`manifests::schema`] inlines them and gives a
//! structural schema as Kubernetes wants it, with what an API server says of Kubernetes' own types, in a file that
//! a test can regenerate; [`manifests::crd`] merges the versions of a kind. What schemars leaves out, such as the
//! order of variants, comes from the sources ([`manifests::source`]). What the API server would refuse is refused
//! first, in rules ([`manifests::cel`]) and patterns ([`manifests::pattern`]) too; kbr refuses nothing that it
//! would accept, except a wrong default below a map, with which it would accept no object. Roles and webhook
//! configurations come from comments in the sources: [`manifests::code_marker`] finds them with rustc's lexer,
//! [`manifests::rbac`] sorts and merges the one, [`manifests::webhook`] makes the other. Where the operator watches
//! namespaces, its Deployment says which, and [`manifests::watched`] reads it there: each has the roles. [`yaml`]
//! is the one writer of YAML.
//!
//! The CRD that was made last says what was stored until `storage` in PROJECT moved: PROJECT remembers it
//! from then on, [`manifests::migration`] says how its objects are migrated, and the version stays until the
//! user says that they are.
//!
//! A type of another operator comes with a CRD that somebody else wrote: [`manifests::external`] finds it
//! in a file, and makes an object that fits it for the tests.
//!
//! `kbr docs` writes the same CRDs in Markdown, by [`manifests::docs`]: that pass also says where a type of
//! Kubernetes' own stands, which is linked there and not unrolled.
//!
//! With `--against`, [`manifests::compat`] compares the CRDs with those of an earlier commit, which git
//! provides through [`toolchain`]. Its table of changes, `changes.yaml`, is tested with an API server too.
//!
//! # What is emitted
//!
//! The largest part of it is `kbr-runtime`, a library for every kube-rs user: the manager around kube's
//! controllers, what a reconcile needs beside a client (owned objects, a clock, conditions), the
//! webhook server, and the tests' real API server with its proof of least privilege. It is a crate
//! with a version of its own and stands in `templates/kbr-runtime`, where it is edited, linted and
//! tested. A project holds the same files without their tests, in `third_party/kbr-runtime`, until a
//! registry has it; [`vendored`] says which files these are, and whether somebody edited them.
//! `templates/third_party` has links to them, because cargo leaves a folder with a `Cargo.toml` out of
//! kbr's own package.
//!
//! A webhook of the project is a file of its own for each kind, version and type, so that another one
//! later touches no code of the user's. `testdata/` holds whole projects, regenerated, compiled and
//! tested by `tests/it/golden.rs`; `testdata/cronjob` is the one to read, and the only one with its
//! copy of `kbr-runtime`.
//!
//! # Modules that move
//!
//! [`modules`] moves Rust modules of a project, such as all of an API group to a folder of their own, and
//! rewrites what names them, token by token; everything else in the user's files stays as it is. It
//! says which files change, and which declarations are wanted elsewhere. [`commands::edit`] and
//! [`commands::rename`] let it move what their models before and after have in different places; names of
//! types and lines of the scaffold are renamed by the latter alone. It renders each file with the old name and
//! with the new one, and has the user's file differ as they do; `kbr edit --project-name` goes the same way.
//!
//! # A project of an earlier kbr
//!
//! [`commands::update`] renders every file of PROJECT again. PROJECT's hashes say which files are as
//! they were rendered; for the others, [`toolchain::git`] finds the text that was rendered in git's
//! history, and what is new since is merged with the owner's edits: by lines, `Cargo.toml` by keys. So
//! every text that kbr has ever emitted is in its users' repositories, and none of them in kbr.
//!
//! # The API server of the tests
//!
//! `kbr envtest` has nothing to do with a project, so it is outside of this flow: it fills the cache that
//! setup-envtest fills for Go. [`envtest`] is the model of it and its only door: behind it are `store`, the folder,
//! `download`, the official archives, and `source`, what Go builds where they are out of reach;
//! [`commands::envtest`] is the order of events. There is no plan: what is wanted is a folder with files in it,
//! each made elsewhere and renamed when it is finished.
//!
//! # Invariants
//!
//! - In a project, one module reads the disk ([`tree`]) and one writes it ([`apply`]). In the cache
//!   of `kbr envtest`, which is in no project, one does both (`envtest::store`). One module starts
//!   processes ([`toolchain`]), one opens connections (`envtest::download`), one speaks to the user
//!   ([`report`]). [`commands`] alone sees them all, and asks the system two things itself: whether
//!   a folder is there, and what it is called. A test checks the imports.
//! - Everything else is pure. Planning touches no disk, clock, environment or terminal, so the
//!   same arguments and the same tree give the same plan.
//! - Nothing is written before everything has been decided, and PROJECT is written last. A kbr that is
//!   killed has done nothing, or what the next command finishes; `killed` tries it at every write. So no
//!   plan is ever made from half a tree.
//! - A user's file is never a template, never parsed and printed again, never formatted. Emitted
//!   code is formatted as rendered.
//! - There is no async code here: nothing waits but for one process or one download. tokio is for
//!   what is emitted.
//! - Each module has its own errors, which say what is wrong, what to type instead and by which code a
//!   program knows it, in one place; [`commands::error`] collects them, and [`error`] has what they share.
//!   Bad input is one of them, never a panic. A panic is a bug of kbr's: a template of its
//!   own that does not render. `fuzz` looks for one.
#![allow(
    rustdoc::private_intra_doc_links,
    reason = "the architecture is about the private modules; see it with --document-private-items"
)]

mod cli;

mod commands;

mod names;
mod project;

mod layout;
mod lock;
mod marker;
mod scaffold;
mod templates;
mod vendored;

mod plan;

mod apply;
mod toolchain;
mod tree;

mod manifests;
mod yaml;

mod modules;

mod envtest;

mod completion;
mod error;
mod report;

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod killed;

use std::ffi::OsString;
use std::process::ExitCode;

use cli::Cli;
use report::Report;

/// Runs what was typed, program name first, to its end.
///
/// The exit code is 0 for done or nothing to do, 1 for refused, failed or, with `--check`, out of
/// date, 2 for a line that could not be parsed. Help is printed, and the process ended, by clap.
pub fn run(args: &[OsString]) -> ExitCode {
    match Cli::of(args) {
        Ok(cli) => {
            let report = Report::new(&cli);
            let result = commands::run(cli, &report);
            report.finish(result)
        }
        Err(error) if error.use_stderr() && cli::wants_json(args) => report::usage(&error),
        Err(error) => error.exit(),
    }
}
