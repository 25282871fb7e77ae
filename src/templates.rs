//! The embedded `templates/` and their strict rendering.
//!
//! A template is a file under `templates/` whose name ends in `.hbs`; `init/` is a picture of what
//! `kbr init` emits, path for path. The crate `kbr-runtime` is embedded as it is, see
//! [`crate::vendored`]. Rendering is strict, so a misspelt variable is an error, and
//! escapes nothing: the output is Rust, TOML and YAML, not HTML. Pure.

mod contexts;

use handlebars::{
    Context, Handlebars, Helper, HelperResult, Output, RenderContext, Renderable, no_escape,
};
use include_dir::{Dir, File, include_dir};
use serde::Serialize;

pub use contexts::{
    AdmissionContext, ApiContext, ConfigContext, ControllerContext, ConverterContext,
    CrdgenContext, CrdgenType, ForeignControllerContext, GroupContext, ImageContext, InitContext,
    VersionContext,
};

static INIT: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/templates/init");
static API: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/templates/api");
static WEBHOOK: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/templates/webhook");

/// The crate `kbr-runtime`, by links to the one that stands beside the templates: cargo leaves every
/// folder with a `Cargo.toml` out of kbr's package, and follows links.
static RUNTIME: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/templates/third_party/kbr-runtime");

/// Where git writes links as text files, as on Windows by default, this does not compile:
/// `git -c core.symlinks=true clone` is what to type.
const _: &str = include_str!("../templates/third_party/kbr-runtime/src/lib.rs");

const EXTENSION: &str = ".hbs";

/// rustfmt's default `max_width`, in characters.
const RUSTFMT_WIDTH: usize = 100;

/// The project's lock file, under the placeholder's name; see [`crate::lock`].
pub const LOCK: &str = include_str!("../templates/project.lock");

/// Renders the template `name`, its path below `templates/` without the extension.
pub fn render(name: &str, context: &impl Serialize) -> String {
    let file = name.split_once('/').and_then(|(folder, path)| {
        let folder = match folder {
            "api" => &API,
            "webhook" => &WEBHOOK,
            _ => return None,
        };
        folder.get_file(format!("{path}{EXTENSION}"))
    });
    render_file(
        file.unwrap_or_else(|| panic!("no template `{name}`")),
        context,
    )
}

/// Renders all of `init/`: path in the project, text.
pub fn render_init(context: &InitContext) -> Vec<(String, String)> {
    let files = files_of(&INIT).into_iter();
    files
        .map(|file| (destination(file), render_file(file, context)))
        .collect()
}

/// The folders at the top of `init/`, by their names in the project.
pub fn init_folders() -> impl Iterator<Item = &'static str> {
    INIT.dirs().filter_map(|folder| folder.path().to_str())
}

/// The files of the crate `kbr-runtime`: path in the crate, text.
pub fn runtime() -> impl Iterator<Item = (String, &'static str)> {
    let files = files_of(&RUNTIME).into_iter();
    files.map(|file| (path(file), source(file)))
}

fn files_of<'a>(folder: &'a Dir<'a>) -> Vec<&'a File<'a>> {
    let mut files = Vec::new();
    collect(folder, &mut files);
    files
}

fn collect<'a>(folder: &'a Dir<'a>, files: &mut Vec<&'a File<'a>>) {
    files.extend(folder.files());
    for folder in folder.dirs() {
        collect(folder, files);
    }
}

fn destination(file: &File<'_>) -> String {
    let name = path(file);
    name.strip_suffix(EXTENSION)
        .map_or_else(|| name.clone(), str::to_owned)
}

/// Where a file stands in its folder, with `/` between the parts.
fn path(file: &File<'_>) -> String {
    let path = file.path().to_str().expect("a template's path is ASCII");
    path.replace('\\', "/")
}

fn source<'a>(file: &'a File<'a>) -> &'a str {
    let text = file.contents_utf8();
    text.unwrap_or_else(|| panic!("{} is not UTF-8", file.path().display()))
}

/// A template that does not render is a bug of kbr's, which its tests meet first.
fn render_file(file: &File<'_>, context: &impl Serialize) -> String {
    let name = file.path().display().to_string();
    let source = source(file);
    let (before, dynamic, after) = split(source);
    if dynamic.is_empty() {
        return source.to_owned();
    }
    let mut engine = Handlebars::new();
    engine.set_strict_mode(true);
    engine.register_escape_fn(no_escape);
    engine.register_helper("fits", Box::new(fits));
    let rendered = engine
        .render_template(dynamic, context)
        .unwrap_or_else(|error| panic!("template {name}: {error}"));
    format!("{before}{rendered}{after}")
}

/// A template's lines before its first tag, those with tags and what is between, those after the
/// last. The engine need only see the middle: its grammar walks plain text letter by letter, which
/// for all of `init/` takes longer than everything else.
fn split(source: &str) -> (&str, &str, &str) {
    let Some(first) = source.find("{{") else {
        return (source, "", "");
    };
    let start = source[..first].rfind('\n').map_or(0, |newline| newline + 1);
    // Behind a pair of braces that is escaped, none need close.
    let last = source.rfind("{{").max(source.rfind("}}")).unwrap_or(first);
    let end = source[last..]
        .find('\n')
        .map_or(source.len(), |newline| last + newline + 1);
    (&source[..start], &source[start..end], &source[end..])
}

/// `{{#fits}}A{{else}}B{{/fits}}`: A where rustfmt would leave its lines as they are, else B.
///
/// The emitted code is formatted as rendered, however long the names in it: kbr never starts
/// rustfmt on a user's file. A is the form on one line, B the one that rustfmt would make of it.
fn fits<'engine, 'call>(
    helper: &Helper<'call>,
    engine: &'engine Handlebars<'engine>,
    context: &'call Context,
    state: &mut RenderContext<'engine, 'call>,
    out: &mut dyn Output,
) -> HelperResult {
    let mut render = |form: Option<&'call handlebars::Template>| match form {
        Some(form) => form.renders(engine, context, state),
        None => Ok(String::new()),
    };
    let short = render(helper.template())?;
    let text = if short
        .lines()
        .all(|line| line.chars().count() <= RUSTFMT_WIDTH)
    {
        short
    } else {
        render(helper.inverse())?
    };
    out.write(&text)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<&'static File<'static>> {
        let folders = [&INIT, &API, &WEBHOOK].into_iter();
        folders.flat_map(files_of).collect()
    }

    #[test]
    fn every_template_is_a_template() {
        for file in all() {
            assert!(
                file.path().to_string_lossy().ends_with(EXTENSION),
                "{}",
                file.path().display()
            );
            let text = source(file);
            assert!(
                text.ends_with('\n') && !text.ends_with("\n\n") && !text.contains('\r'),
                "{}",
                file.path().display()
            );
        }
    }

    #[test]
    fn only_the_lines_between_the_first_and_the_last_tag_are_rendered() {
        assert_eq!(split("a\nb\n"), ("a\nb\n", "", ""));
        assert_eq!(
            split("a\nb {{c}}\nd\n{{e}} f\ng\n"),
            ("a\n", "b {{c}}\nd\n{{e}} f\n", "g\n")
        );
        assert_eq!(split("{{a}}"), ("", "{{a}}", ""));
        assert_eq!(split("}}\n\\{{\nb\n"), ("}}\n", "\\{{\n", "b\n"));
        assert_eq!(split("{{a}}\n\\{{\nb\n"), ("", "{{a}}\n\\{{\n", "b\n"));
    }

    #[test]
    fn every_condition_names_a_field_that_is_a_bool() {
        for file in all() {
            for condition in source(file).split("{{#if ").skip(1) {
                let name = condition.split("}}").next().expect("a name").trim();
                assert!(
                    [
                        "bounds_names",
                        "bounds_namespaces",
                        "cluster",
                        "core",
                        "external",
                        "has_command",
                        "has_port",
                        "has_repo",
                        "has_user",
                        "license",
                        "namespaced",
                        "own",
                        "types"
                    ]
                    .contains(&name),
                    "{}: {name}",
                    file.path().display()
                );
            }
        }
    }

    #[test]
    fn markers_in_templates_are_markers_that_exist() {
        use crate::marker::ScaffoldMarker;
        let mut seen = std::collections::BTreeSet::new();
        for file in all()
            .into_iter()
            .filter(|file| !file.path().to_string_lossy().ends_with(".md.hbs"))
        {
            for line in source(file)
                .lines()
                .filter(|line| line.contains("+kbr:scaffold:"))
            {
                let marker = ScaffoldMarker::ALL
                    .into_iter()
                    .find(|marker| marker.line() == line.trim());
                seen.insert(marker.unwrap_or_else(|| panic!("{}: {line}", file.path().display())));
            }
        }
        assert_eq!(
            seen.len(),
            ScaffoldMarker::ALL.len(),
            "each marker is in a template: {seen:?}"
        );
    }
}
