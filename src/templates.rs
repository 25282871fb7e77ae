//! The embedded `templates/` and their strict rendering.
//!
//! A template is a file under `templates/` whose name ends in `.hbs`; `init/` mirrors what
//! `kbr init` emits, path for path. The crates `kbr-runtime` and `kbr-testing` are embedded as they are,
//! see [`crate::vendored`]. Rendering is strict, so a misspelt variable is an error, and
//! escapes nothing: the output is Rust, TOML and YAML, not HTML. Pure.

pub mod all;

mod contexts;

use std::marker::PhantomData;

use handlebars::{
    Context, Handlebars, Helper, HelperResult, Output, RenderContext, Renderable,
    handlebars_helper, no_escape,
};
use include_dir::{Dir, File, include_dir};
use serde::Serialize;
use serde_json::Value;

use crate::article::article;

pub use contexts::{
    AdmissionContext, ControllerContext, ConverterContext, CrdgenContext, CrdgenType, GroupContext,
    ImportedContext, ImportedConverterContext, InitContext, PolicyContext, ResourceContext,
};

static INIT: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/templates/init");

/// The crates `kbr-runtime` and `kbr-testing`, through links to the crates next to the templates: cargo omits
/// every folder with a `Cargo.toml` from kbr's package, and follows links.
static THIRD_PARTY: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/templates/third_party");

/// If git has written links as text files, as on Windows by default, this does not compile: type
/// `git -c core.symlinks=true clone`.
const _: &str = include_str!("../templates/third_party/kbr-runtime/src/lib.rs");

const EXTENSION: &str = ".hbs";

/// rustfmt's default `max_width`, in characters.
const RUSTFMT_WIDTH: usize = 100;

/// rustfmt's default `fn_call_width`: arguments that are wider are on a line each.
const ARGUMENTS_WIDTH: usize = 60;

/// The project's lock file, with the placeholder's name; see [`crate::lock`].
pub const LOCK: &str = include_str!("../templates/project.lock");

/// The files of a Helm chart that are the same for every project, except for its name: path in the chart and text.
pub const CHART: [(&str, &str); 3] = [
    (
        ".helmignore",
        include_str!("../templates/chart/.helmignore"),
    ),
    (
        "templates/NOTES.txt",
        include_str!("../templates/chart/templates/NOTES.txt"),
    ),
    (
        "templates/_helpers.tpl",
        include_str!("../templates/chart/templates/_helpers.tpl"),
    ),
];

/// The files of an OLM bundle that are the same for every project, except for its name: path and text.
pub const BUNDLE: [(&str, &str); 2] = [
    (
        "bundle.Dockerfile",
        include_str!("../templates/bundle/bundle.Dockerfile"),
    ),
    (
        "bundle/metadata/annotations.yaml",
        include_str!("../templates/bundle/annotations.yaml"),
    ),
];

/// What only the owner of a bundle knows, as it is in the beginning.
pub const BUNDLE_BASE: &str = include_str!("../templates/bundle/clusterserviceversion.yaml");

/// A file below `templates/`, and the type of its context. [`all`] has every template.
#[derive(Debug)]
pub struct Template<C> {
    path: &'static str,
    source: &'static str,
    context: PhantomData<fn(&C)>,
}

impl<C: Serialize> Template<C> {
    const fn new(path: &'static str, source: &'static str) -> Self {
        Self {
            path,
            source,
            context: PhantomData,
        }
    }

    /// The path below `templates/`, without the extension.
    pub fn path(&self) -> &'static str {
        self.path
    }

    /// The template with its context, to be rendered when its text is needed.
    pub fn with(&self, context: &C) -> Filled {
        Filled {
            path: self.path,
            source: self.source,
            context: serde_json::to_value(context).unwrap_or_default(),
        }
    }
}

/// A template with its context.
#[derive(Debug, Clone)]
pub struct Filled {
    path: &'static str,
    source: &'static str,
    context: Value,
}

impl Filled {
    pub fn render(&self) -> String {
        render(self.path, self.source, &self.context)
    }
}

/// Renders all of `init/`: path in the project and text.
pub fn render_init(context: &InitContext) -> Vec<(String, String)> {
    let files = files_of(&INIT).into_iter();
    files
        .map(|file| {
            let path = path(file);
            let text = render(&path, source(file), context);
            (path.trim_end_matches(EXTENSION).to_owned(), text)
        })
        .collect()
}

/// The folders at the top of `init/`, by their names in the project.
pub fn init_folders() -> impl Iterator<Item = &'static str> {
    INIT.dirs().filter_map(|folder| folder.path().to_str())
}

/// The files of the crates `kbr-runtime` and `kbr-testing`: path in the project and text.
pub fn third_party() -> impl Iterator<Item = (String, &'static str)> {
    let files = files_of(&THIRD_PARTY).into_iter();
    files.map(|file| (format!("third_party/{}", path(file)), source(file)))
}

fn files_of<'a>(folder: &'a Dir<'a>) -> Vec<&'a File<'a>> {
    let below = folder.dirs().flat_map(files_of);
    folder.files().chain(below).collect()
}

/// A file's path in its folder, with `/` between the parts.
fn path(file: &File<'_>) -> String {
    let path = file.path().to_str().expect("a template's path is ASCII");
    path.replace('\\', "/")
}

fn source<'a>(file: &'a File<'a>) -> &'a str {
    let text = file.contents_utf8();
    text.unwrap_or_else(|| panic!("{} is not UTF-8", file.path().display()))
}

/// Renders a template. One that does not render is a bug in kbr, which its tests find first.
fn render(name: &str, source: &str, context: &impl Serialize) -> String {
    let (before, dynamic, after) = split(source);
    if dynamic.is_empty() {
        return source.to_owned();
    }
    let mut engine = Handlebars::new();
    engine.set_strict_mode(true);
    engine.register_escape_fn(no_escape);
    engine.register_helper("article", Box::new(lower_article));
    engine.register_helper("Article", Box::new(upper_article));
    engine.register_helper("constant", Box::new(constant));
    engine.register_helper("fits", Box::new(fits));
    let rendered = engine
        .render_template(dynamic, context)
        .unwrap_or_else(|error| panic!("template {name}: {error}"));
    format!("{before}{rendered}{after}")
}

// `{{article kind}}` and `{{Article kind}}`: the article before a name in a sentence, and at its beginning.
handlebars_helper!(lower_article: |word: str| article(word));
handlebars_helper!(upper_article: |word: str| if article(word) == "an" { "An" } else { "A" });

/// Splits a template into the lines before its first tag, those from the first tag to the last, and
/// those after the last. The engine only needs the middle: it parses plain text letter by letter, which
/// for all of `init/` takes longer than everything else.
fn split(source: &str) -> (&str, &str, &str) {
    let Some(first) = source.find("{{") else {
        return (source, "", "");
    };
    let start = source[..first].rfind('\n').map_or(0, |newline| newline + 1);
    // An escaped pair of braces need not be closed.
    let last = source.rfind("{{").max(source.rfind("}}")).unwrap_or(first);
    let end = source[last..]
        .find('\n')
        .map_or(source.len(), |newline| last + newline + 1);
    (&source[..start], &source[start..end], &source[end..])
}

/// `{{#fits}}A{{else}}B{{/fits}}`: A if rustfmt would leave its lines as they are, else B.
///
/// The emitted code is rendered in rustfmt's format, however long the names in it: kbr does not run
/// rustfmt on new files. A is the form on one line, B the form that rustfmt would give it.
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
    let text = match short
        .lines()
        .all(|line| is_narrow(line) && has_narrow_arguments(line))
    {
        true => short,
        false => render(helper.inverse())?,
    };
    out.write(&text)?;
    Ok(())
}

/// `{{#constant}}A = B;{{/constant}}`: a constant whose value is a string literal, as rustfmt formats it:
/// on one line, or broken after `=` if that makes it fit.
fn constant<'engine, 'call>(
    helper: &Helper<'call>,
    engine: &'engine Handlebars<'engine>,
    context: &'call Context,
    state: &mut RenderContext<'engine, 'call>,
    out: &mut dyn Output,
) -> HelperResult {
    let Some(form) = helper.template() else {
        return Ok(());
    };
    let short = form.renders(engine, context, state)?;
    let broken = short.replacen(" = ", " =\n    ", 1);
    let must_break = !short.lines().all(is_narrow) && broken.lines().all(is_narrow);
    out.write(if must_break { &broken } else { &short })?;
    Ok(())
}

/// Whether rustfmt leaves a line as it is.
fn is_narrow(line: &str) -> bool {
    line.chars().count() <= RUSTFMT_WIDTH
}

/// Whether rustfmt leaves the arguments of a call that is a statement on one line.
fn has_narrow_arguments(line: &str) -> bool {
    let arguments = line.split_once('(');
    let arguments = arguments.and_then(|(_, rest)| rest.strip_suffix(");"));
    arguments.is_none_or(|arguments| arguments.chars().count() <= ARGUMENTS_WIDTH)
}

#[cfg(test)]
mod tests {
    use super::*;

    static API: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/templates/api");
    static POLICY: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/templates/policy");
    static WEBHOOK: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/templates/webhook");

    /// Path below `templates/` and text of every template.
    fn files() -> Vec<(String, &'static str)> {
        let folders = [
            ("init", &INIT),
            ("api", &API),
            ("policy", &POLICY),
            ("webhook", &WEBHOOK),
        ]
        .into_iter();
        folders
            .flat_map(|(name, folder)| {
                let files = files_of(folder).into_iter();
                files.map(move |file| (format!("{name}/{}", path(file)), source(file)))
            })
            .collect()
    }

    #[test]
    fn every_template_has_the_extension_and_ends_with_one_newline() {
        for (path, text) in files() {
            assert!(path.ends_with(EXTENSION), "{path}");
            assert!(
                text.ends_with('\n') && !text.ends_with("\n\n") && !text.contains('\r'),
                "{path}"
            );
        }
    }

    #[test]
    fn every_template_has_its_context() {
        let listed: Vec<String> = all::all()
            .into_iter()
            .map(|(path, _)| format!("{path}{EXTENSION}"))
            .collect();
        let mut sorted = listed.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!(sorted.len(), listed.len(), "a template is listed twice");
        let mut found: Vec<String> = files().into_iter().map(|(path, _)| path).collect();
        found.retain(|path| !path.starts_with("init/"));
        found.sort();
        assert_eq!(sorted, found);
    }

    /// The name in a tag and the type that it needs; `None` for a tag without a name.
    fn needed(tag: &str) -> Option<(&str, &'static str)> {
        let words: Vec<&str> = tag.split_whitespace().collect();
        match words[..] {
            // `this` is an item of the list around it.
            ["else" | "this" | "#fits" | "#constant"] => None,
            ["#if" | "#unless", name] => Some((name, "boolean")),
            ["#each", name] => Some((name, "array")),
            ["article" | "Article", name] => Some((name, "string")),
            [name] if name.starts_with('/') => None,
            [name] => Some((name.trim_start_matches("../"), "string")),
            _ => panic!("{tag}"),
        }
    }

    #[test]
    fn every_tag_names_a_field_of_its_type() {
        let mut schemas: Vec<(String, schemars::Schema)> = all::all()
            .into_iter()
            .map(|(path, schema)| (format!("{path}{EXTENSION}"), schema))
            .collect();
        let init = files()
            .into_iter()
            .filter(|(path, _)| path.starts_with("init/"));
        schemas.extend(init.map(|(path, _)| (path, schemars::schema_for!(InitContext))));
        let texts: std::collections::BTreeMap<String, &str> = files().into_iter().collect();
        for (path, schema) in schemas {
            let schema = schema.to_value();
            let items = &schema["$defs"]["CrdgenType"]["properties"];
            // A backslash makes it text, for templates of others.
            let text = texts[&path].replace("\\{{", "");
            for tag in text.split("{{").skip(1) {
                let (tag, _) = tag.split_once("}}").expect("the end of a tag");
                let Some((name, needed)) = needed(tag).filter(|_| !tag.starts_with(" vars."))
                else {
                    continue;
                };
                let types = [&schema["properties"][name]["type"], &items[name]["type"]];
                assert!(
                    types.iter().any(|it| **it == needed),
                    "{path}: `{{{{{tag}}}}}` needs a {needed} `{name}` in its context"
                );
            }
        }
    }

    #[test]
    fn a_constant_breaks_if_that_makes_it_fit() {
        let render = |name: &str| {
            let context = serde_json::json!({ "name": name });
            render(
                "",
                "{{#constant}}\nconst A: &str = \"{{name}}\";\n{{/constant}}\n",
                &context,
            )
        };
        let [short, long, longer] = [81, 82, 94].map(|length| "a".repeat(length));
        assert_eq!(render(&short), format!("const A: &str = \"{short}\";\n"));
        assert_eq!(render(&long), format!("const A: &str =\n    \"{long}\";\n"));
        assert_eq!(render(&longer), format!("const A: &str = \"{longer}\";\n"));
    }

    #[test]
    fn a_call_breaks_if_its_arguments_are_wide() {
        let template = "{{#fits}}\na.b(\"{{name}}\", c);\n{{else}}\nbroken\n{{/fits}}\n";
        let render = |length| {
            let context = serde_json::json!({ "name": "n".repeat(length) });
            render("", template, &context)
        };
        assert!(render(55).starts_with("a.b("));
        assert_eq!(render(56), "broken\n");
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
    fn every_marker_in_a_template_exists() {
        use crate::marker::ScaffoldMarker;
        use clap::ValueEnum;
        let mut seen = std::collections::BTreeSet::new();
        for (path, text) in files() {
            if path.ends_with(".md.hbs") {
                continue;
            }
            for line in text.lines().filter(|line| line.contains("+kbr:scaffold:")) {
                let marker = ScaffoldMarker::value_variants()
                    .iter()
                    .find(|marker| marker.line() == line.trim());
                seen.insert(marker.unwrap_or_else(|| panic!("{path}: {line}")));
            }
        }
        assert_eq!(
            seen.len(),
            ScaffoldMarker::value_variants().len(),
            "each marker is in a template: {seen:?}"
        );
    }
}
