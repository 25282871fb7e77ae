//! kbr scaffolds Kubernetes operators in Rust, and generates their manifests from their code.
//!
//! This page is the architecture: how data flows, what each module does, and what is
//! deliberately absent. The binary calls [`run`]; nothing else is public.
//!
//! # The flow
//!
//! Data flows one way. These arrows are the lines of [`commands`]:
//!
//! ```text
//! argv ──cli──▶ arguments ─┐
//!                          ├──▶ desired state ───plan──▶ Plan ──┬──apply──▶ disk ──┐
//! disk ──tree─▶ Tree ──────┤    (a list of changes)             ├──check──▶ drift ─┼──▶ report
//!      └─project─▶ Project ┤                                    └──dry run─────────┘
//! code ──toolchain──▶ crdgen's JSON (manifests and docs only)
//! Cargo.toml ──toolchain──▶ the same with a crate added or removed (types of other operators only)
//! ```
//!
//! 1. [`cli`] parses the command line into values, and says what to type in place of words of other tools;
//!    [`names`] parses names that must have a certain form, and guesses the one that was meant.
//! 2. [`tree`] reads the folders that `kbr init` creates, [`project`] parses the PROJECT file into a model.
//! 3. [`commands::init`], [`commands::create_api`], [`commands::create_webhook`],
//!    [`commands::create_policy`], [`commands::delete`], [`commands::edit`], [`commands::rename`], [`commands::import_crd`], [`commands::manifests`] and
//!    [`commands::docs`] return the changes that they want, as a list of
//!    [`plan::Change`]s: files rendered by [`templates`], each from a type of its own, lines for a [`marker`], documents of
//!    [`manifests`]; [`article`] chooses "a" or "an" before a kind in both. [`scaffold`] is everything that a project model needs: a command adds or deletes the
//!    difference between the scaffolds of the models before and after it. Paths
//!    come from [`layout`], names of deployed objects from [`names::objects`], the lock file from [`lock`], the crates
//!    that each project contains from [`vendored`].
//! 4. [`plan`] compares these changes with the tree. The result is the text of each file before and after, or
//!    every reason why the changes are impossible.
//! 5. [`apply`] carries out the plan, or leaves everything unchanged; `--dry-run` and `--check` stop before that.
//!    While files change, it keeps a record of them in `.kbr-plan`. If kbr is killed, the next kbr reads the record
//!    before anything else, and finishes the work.
//! 6. [`report`] prints the result, as text or as JSON, and determines the exit code.
//!
//! From step 4 on, all commands that plan share one path: they give [`commands`] a value with the changes, the
//! warnings and the next command to type, and `commands::run` does the rest. A module that plans
//! imports none of that except [`commands::desired`].
//!
//! # Who owns a file
//!
//! The kind of change decides. `Create` creates a file that belongs to the user from then on. So does `Keep`, unless
//! the file exists. `Generate` writes a file that remains kbr's, as its first line says. `Insert` adds one line above a
//! scaffold marker in a file of the user, and `TakeOut` removes it again. `Remove` deletes a file that kbr once
//! generated and no longer produces, or a file of the user that is no longer needed. `Edit` changes a file of the
//! user in place, and `Rewrite` one that kbr renders differently now. `Leave` keeps a file because its owner edited it: PROJECT records
//! a hash of each file as it was rendered, and [`rendered`] tells an unedited file from an edited one. The hash does not
//! cover what is added to the file later, which are lines above markers and the crates of other operators' types, so it
//! is the same on every branch. The vendored crates have their own checksums, and every command lists the files that were
//! edited there.
//!
//! # How an edited file changes
//!
//! [`evolve`] carries the edits of a file's owner from what kbr has rendered to what it renders now, whatever the command
//! is: a rename, another layout, a hub, other certificates, a newer kbr, a chart or a bundle. A command first writes the
//! new names into both the owner's text and the rendered one. Then lines that are in both become the new ones, and what
//! is left is merged; where both have changed the same lines, the file gets conflict markers, the command fails, and
//! the next one is refused until they are gone. Lines above markers are a set, which is changed apart from that. A
//! `Cargo.toml` is merged by its keys ([`cargo_toml`], the only editor of manifests).
//!
//! PROJECT has the hash of what the present model renders to. The text that an edited file started from is in git's
//! history; what has changed in it since is in PROJECT, under `bases`. So a later kbr finds the text with that hash,
//! whatever has been renamed. `commands::tests::laws` draws histories of commands and edits, and checks what must be true of
//! each.
//!
//! # Manifests
//!
//! CRDs come from compiled types: [`toolchain`] runs the project's own `crdgen`, which prints everything in `crd()`
//! outside of the schema, and the type's definitions without inlining them. [`manifests::schema`] inlines them into a
//! structural schema, as Kubernetes requires; what an API server says about Kubernetes' own types is in a file that a
//! test can regenerate. [`manifests::crd`] merges the versions of a kind. What schemars omits, such as the
//! order of variants, comes from the sources ([`manifests::source`]). kbr refuses in advance what the API server would
//! refuse, also in rules ([`manifests::cel`]) and patterns ([`manifests::pattern`]), and nothing else, with one
//! exception: the API server accepts a wrong default below a map, but then no object that gets it. Roles and webhook
//! configurations come from comments in the sources, see [`manifests::code_marker`];
//! [`manifests::rbac`] sorts and merges the roles, [`manifests::webhook`] builds the webhook configurations, and
//! [`manifests::certificates`] the roles of a manager that makes the certificates of its webhooks itself. If the
//! operator watches only certain namespaces, its Deployment lists them and [`manifests::watched`] reads the list:
//! each of them gets the roles. [`yaml`] is the only writer of YAML, and the only reader of
//! files with several documents.
//!
//! The CRD that was generated last shows the stored version until `storage` in PROJECT moves. From then on PROJECT
//! remembers that version, [`manifests::migration`] explains how to migrate its objects, and the version stays until
//! the user confirms the migration.
//!
//! A type of another operator comes with a CRD that somebody else wrote: [`import::external`] finds it
//! in a file, and [`manifests::external`] builds a matching object for the tests. If no crate has the type,
//! [`import::types`] makes it from the CRD, as it makes the project's own.
//!
//! Admission policies are files of the user: [`manifests::policy`] only checks them, with the types in their
//! expressions ([`manifests::cel`]). The schemas are those of the CRDs, also of other operators', and of Kubernetes' own
//! types that have a policy, which crdgen prints too.
//!
//! `kbr docs` writes the same CRDs as Markdown, with [`manifests::docs`]. The schema pass also records which fields have
//! a type of Kubernetes' own: the reference links to that type instead of listing its fields.
//!
//! With `--against`, [`manifests::compat`] compares the CRDs with those of an earlier commit, which git
//! provides through [`toolchain`]; with `--against-crds`, with those in files, which [`import::documents`] reads. Its
//! table of changes, `changes.yaml`, is tested with an API server too.
//!
//! # The Helm chart and the OLM bundle
//!
//! kubectl builds a copy of `config/default` with marks in place of the prefix and of the namespace, so both have what users
//! have added to `config/`, whatever kustomize can do; [`kustomize`] reads what it prints. [`chart`] turns each object into a template; `config/prometheus` and `config/grafana` are in the chart even
//! if `config/default` does not list them, because a value of the chart does that. [`bundle`] sorts the objects into
//! those that OLM installs as they are and those that it makes itself from the ClusterServiceVersion: the Deployment,
//! the roles of its ServiceAccount and the webhooks. What only the owner knows is in a file of `config/manifests`.
//!
//! Both are merged with the edits of their owner as by `kbr update`. If all files of one are gone, it is written again. A file
//! that gets another name, because something was renamed, is found by its similarity to the new one, and its edits follow.
//!
//! # What exists already
//!
//! `kbr import crd` goes the other way: [`import`] reads CRDs, and makes the types from which the same CRDs follow. It
//! refuses what no API server would accept, recognises Kubernetes' own types by the schemas that `kbr manifests` would
//! write for them, and writes what Rust cannot express into the attributes, so nothing is lost. PROJECT records that a
//! type was imported, since its text follows from no template. Whether the result is the same API is what
//! `kbr manifests --check --against-crds` says.
//!
//! It reads Go projects too, without running Go. [`commands::import_project`] turns such a model into the model of
//! a new project, scaffolds it, and replaces the texts of the files that the Go project determines. Such a file is edited
//! from the first day, for `kbr update` too.
//!
//! # What is emitted
//!
//! The largest part of what kbr emits is `kbr-runtime`, a library for every kube-rs user, on kube's client and watcher: the
//! controllers with their caches and queue, the manager that runs them, what a reconcile needs besides a client (owned
//! objects, a clock, conditions), the webhook server. Its README says what of kube it replaces, and why. The tests of a project use `kbr-testing`: a real API server, with a proof of least privilege and one
//! that no crash and no lost request makes a difference (`make test-crash`).
//! Both are crates with a version of their own, in `templates/kbr-runtime` and `templates/kbr-testing`, where they are
//! edited, linted and tested. A project contains the same files without their tests, in `third_party`, until the
//! crates are in a registry; [`vendored`] lists these files, and detects whether somebody edited them.
//! `templates/third_party` has links to them, because cargo excludes a folder with a `Cargo.toml` from
//! kbr's own package.
//!
//! Each webhook of a project is a file of its own for each kind, version and type, so adding another one
//! later touches none of the user's code. `testdata/` contains whole projects, regenerated and
//! compared by `tests/it/golden.rs`, compiled and tested by that and by `tests/projects/goldens.rs`; `testdata/cronjob`
//! is the one to read. Both crates are links there, and copies in the projects that kbr writes.
//!
//! # The reader of Rust
//!
//! [`rust`] is the only user of rustc's lexer. It knows tokens, matching brackets, comments, attributes, imports,
//! where an item ends, what is code for tests, and markers with the position of each word. A marker that is read
//! and a marker that is renamed are therefore the same. What the tokens mean is up to those who ask: [`manifests`],
//! [`modules`] and [`commands::rename`]. A file that does not compile is read like any other.
//!
//! # Modules that move
//!
//! [`modules`] moves Rust modules of a project, such as everything in an API group to a folder of its own, and
//! rewrites the paths to them, token by token; everything else in the user's files stays unchanged. It
//! returns the files that change, and the declarations that must move to another file. [`commands::edit`] and
//! [`commands::rename`] use it for the modules that are in different places in their models before and after; only the
//! latter renames types and lines of the scaffold. Other packages of the workspace that use the project's crates are read for
//! both.
//!
//! # A project of an earlier kbr
//!
//! [`commands::update`] renders every file of PROJECT again. The hashes in PROJECT show which files are
//! unedited; for the others, [`toolchain::git`] finds the rendered text in git's
//! history, and the changes since then are merged with the owner's edits. So every text that kbr has ever emitted is in
//! its users' repositories, and none of them in kbr.
//!
//! # The API server of the tests
//!
//! `kbr envtest` has nothing to do with a project, so it is outside of this flow: it fills the same cache that
//! setup-envtest fills for Go. [`envtest`] is its model and the only entry point. Behind it are `store`, the folder,
//! `download`, the official archives, and `source`, the build with Go if the archives are unreachable;
//! [`commands::envtest`] defines the order of events. There is no plan: the desired state is a folder with files in it,
//! each created elsewhere and renamed into place when it is complete.
//!
//! # A loop around the commands
//!
//! `kbr dev` is the only command that waits for several things at once: files, processes, the user. [`commands::dev`] is a
//! loop over events, without async code: threads of [`toolchain`] turn whatever happens into events, and the loop decides,
//! from flags that say what has to be done, what to start next. What a change of files means is the difference of two
//! [`tree`]s. It plans nothing itself: manifests are written by `kbr manifests`, which it starts as a process. What
//! speaks to the API server is `kbr_testing`'s `serve_kbr_dev`, in a process of the project, so that kbr needs no
//! client; a proxy there tells what the operator writes. What it must know of a cluster of the user's kubeconfig, kubectl
//! says. [`report`] shows it all: as lines, as JSON, or on a screen, whose lines are a pure function of what has happened.
//! Each process is kept by a shell that kills it when kbr ends.
//!
//! # The guide
//!
//! [`guide`] has a Markdown file for each chapter: it is the manual for users, while this page is for contributors.
//! `kbr help TOPIC` prints a chapter, by its topic or by another word for it, and the pages of that module show them all. The chapters of `kbr-runtime`, for
//! which its documentation has the pages, are printed as `kbr help runtime-…`. `tests/it/guide.rs` runs its commands
//! and compiles its Rust.
//!
//! # Invariants
//!
//! - In a project, one module reads the disk ([`tree`]) and one writes it ([`apply`], also the user's configuration of kbr).
//!   In the cache of `kbr envtest`, which is not part of a project, one module does both (`envtest::store`). One module starts
//!   processes and threads, and writes the temporary files that they need ([`toolchain`]), one opens connections (`envtest::download`), one talks to the user
//!   ([`report`]). Only [`commands`] sees them all, and asks the system two things itself: whether
//!   a folder exists, and what its name is. A test checks the imports.
//! - Everything else is pure. Planning touches no disk, clock, environment or terminal, so the
//!   same arguments and the same tree give the same plan.
//! - Nothing is written before everything has been decided, and PROJECT is written last. If kbr is killed, either it
//!   has changed nothing, or the next command finishes its work; the tests in `killed` try this at every write. So no
//!   plan is ever made from a half-written tree.
//! - A user's file is never a template, never parsed and printed again, never formatted. Emitted
//!   code is already formatted when it is rendered.
//! - There is no async code here: except for `kbr dev`, which has threads, kbr never waits for more than one process or one
//!   download. tokio is only for the emitted code.
//! - Each module has its own errors. Each error has in one place what is wrong, what to type instead, and a code by
//!   which programs recognize it; [`commands::error`] collects them, and [`error`] contains what they share.
//!   Bad input is an error, never a panic. A panic is a bug in kbr: one of its own
//!   templates does not render. `fuzz` looks for one.
#![warn(unreachable_pub)]
#![allow(
    rustdoc::private_intra_doc_links,
    reason = "the architecture is about the private modules; see it with --document-private-items"
)]

mod cli;

mod commands;

mod names;
mod project;

mod article;
mod bundle;
mod cargo_toml;
mod chart;
mod evolve;
mod kustomize;
mod layout;
mod lock;
mod marker;
mod rendered;
mod scaffold;
mod templates;
mod vendored;

mod plan;

mod apply;
mod toolchain;
mod tree;

mod import;
mod manifests;
mod yaml;

mod modules;
mod rust;

mod envtest;

mod completion;
mod error;
mod guide;
mod report;

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod killed;

use std::ffi::OsString;
use std::process::ExitCode;

use cli::Cli;
use report::Report;

/// Runs the command line, whose first argument is the program name.
///
/// The exit code is 0 for success, even if there was nothing to do, 1 if the command was refused, failed or, with
/// `--check`, found files out of date, and 2 for a command line that could not be parsed. That of `kbr dev --plan` is the
/// operator's: 0 if it would change nothing, 1 if it would, 2 after an error. For help, clap prints it and ends the process.
pub fn run(args: &[OsString]) -> ExitCode {
    // A word, or what it means, may be a name in PROJECT.
    match Cli::of(args, &commands::known(&cli::directory(args))) {
        Ok(cli) => {
            let report = Report::new(&cli);
            let result = commands::run(cli, &report);
            report.finish(result)
        }
        Err(error) if error.use_stderr() && cli::wants_json(args) => report::usage(&error),
        Err(error) => error.exit(),
    }
}
