//! The embedded `templates/` and their strict rendering.
//!
//! A template is a file under `templates/` whose name ends in `.hbs`; `init/` mirrors what
//! `kbr init` emits, path for path. The crates `kbr-runtime` and `kbr-testing` are embedded as they are,
//! see [`crate::vendored`]. Rendering is strict, so a misspelt variable is an error, and
//! escapes nothing: the output is Rust, TOML and YAML, not HTML. Pure.

pub(crate) mod all;

mod altered;
mod contexts;
mod engine;

use std::fmt::Debug;
use std::marker::PhantomData;
use std::rc::Rc;

use handlebars::Context;
use include_dir::{Dir, File, include_dir};
use serde::Serialize;

use engine::render;

pub(crate) use contexts::{
    AdmissionContext, ControllerContext, ConverterContext, CrdgenContext, CrdgenType, GroupContext,
    ImportedContext, ImportedConverterContext, InitContext, PolicyContext, ResourceContext,
    ScopeContext,
};

#[cfg(test)]
pub(crate) use altered::altered;

static INIT: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/templates/init");

/// The crates `kbr-runtime` and `kbr-testing`, through links to the crates next to the templates: cargo omits
/// every folder with a `Cargo.toml` from kbr's package, and follows links.
static THIRD_PARTY: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/templates/third_party");

/// If git has written links as text files, as on Windows by default, this does not compile: type
/// `git -c core.symlinks=true clone`.
const _: &str = include_str!("../templates/third_party/kbr-runtime/src/lib.rs");

const EXTENSION: &str = ".hbs";

/// The project's lock file, with the placeholder's name; see [`crate::lock`].
pub(crate) const LOCK: &str = include_str!("../templates/project.lock");

/// The files of a Helm chart that are the same for every project, except for its name: path in the chart and text.
pub(crate) const CHART: [(&str, &str); 3] = [
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
pub(crate) const BUNDLE: [(&str, &str); 2] = [
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
pub(crate) const BUNDLE_BASE: &str = include_str!("../templates/bundle/clusterserviceversion.yaml");

/// A file below `templates/`, and the type of its context. [`all`] has every template.
#[derive(Debug)]
pub(crate) struct Template<C> {
    path: &'static str,
    source: &'static str,
    context: PhantomData<fn(&C)>,
}

impl<C: Variables> Template<C> {
    const fn new(path: &'static str, source: &'static str) -> Self {
        Self {
            path,
            source,
            context: PhantomData,
        }
    }

    /// The path below `templates/`, without the extension.
    pub(crate) fn path(&self) -> &'static str {
        self.path
    }

    /// The template with its context, to be rendered when its text is needed.
    pub(crate) fn with(&self, context: &C) -> Filled {
        Filled {
            path: self.path,
            source: self.source,
            context: Rc::new(context.clone()),
        }
    }
}

/// A template with its context. Most are only compared by their paths, so the context is not yet what the engine reads.
#[derive(Debug, Clone)]
pub(crate) struct Filled {
    path: &'static str,
    source: &'static str,
    context: Rc<dyn Read>,
}

impl Filled {
    pub(crate) fn render(&self) -> String {
        altered::text(
            self.path,
            render(self.path, self.source, &self.context.read()),
        )
    }
}

/// The type of a template's context.
pub(crate) trait Variables: Clone + Debug + Serialize + 'static {}

impl<C: Clone + Debug + Serialize + 'static> Variables for C {}

/// The context of some template.
trait Read: Debug {
    /// As the engine reads it.
    fn read(&self) -> Context;
}

impl<C: Debug + Serialize> Read for C {
    fn read(&self) -> Context {
        Context::wraps(self).expect("the fields of a context have names")
    }
}

/// Renders all of `init/`: path in the project and text.
pub(crate) fn render_init(context: &InitContext) -> Vec<(String, String)> {
    let context = context.read();
    let files = files_of(&INIT).into_iter();
    files
        .map(|file| {
            let path = path(file);
            let text = altered::text(&path, render(&path, source(file), &context));
            (path.trim_end_matches(EXTENSION).to_owned(), text)
        })
        .collect()
}

/// The folders at the top of `init/`, by their names in the project.
pub(crate) fn init_folders() -> impl Iterator<Item = &'static str> {
    INIT.dirs().filter_map(|folder| folder.path().to_str())
}

/// The files of the crates `kbr-runtime` and `kbr-testing`: path in the project and text.
pub(crate) fn third_party() -> impl Iterator<Item = (String, &'static str)> {
    let files = files_of(&THIRD_PARTY).into_iter();
    files.map(|file| (format!("third_party/{}", path(file)), source(file)))
}

fn files_of(folder: &'static Dir<'static>) -> Vec<&'static File<'static>> {
    let below = folder.dirs().flat_map(files_of);
    folder.files().chain(below).collect()
}

/// A file's path in its folder, with `/` between the parts.
fn path(file: &File<'_>) -> String {
    let path = file.path().to_str().expect("a template's path is ASCII");
    path.replace('\\', "/")
}

fn source(file: &'static File<'static>) -> &'static str {
    let text = file.contents_utf8();
    text.unwrap_or_else(|| panic!("{} is not UTF-8", file.path().display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rust::tests::{assert_free_of_versions, modules_in_scope};

    static API: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/templates/api");
    static POLICY: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/templates/policy");
    static SCOPE: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/templates/scope");
    static WEBHOOK: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/templates/webhook");

    /// Path below `templates/` and text of every template.
    fn files() -> Vec<(String, &'static str)> {
        let folders = [
            ("init", &INIT),
            ("api", &API),
            ("policy", &POLICY),
            ("scope", &SCOPE),
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
    fn a_version_has_no_module_that_the_code_beside_it_uses() {
        let mut modules = std::collections::BTreeSet::new();
        for (path, text) in files() {
            let declares = ["init/api/src/lib.rs.hbs", "init/src/webhook.rs.hbs"];
            if declares.contains(&path.as_str()) || text.contains("\nuse api::") {
                modules.extend(modules_in_scope(text));
            }
        }
        for known in ["conditions", "kube", "serde_json", "status", "tests"] {
            assert!(modules.contains(known), "{known} in {modules:?}");
        }
        assert_free_of_versions(&modules);
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
    fn in_pieces_each_template_renders_the_same_as_a_whole() {
        let schemas = all::all().into_iter();
        let schemas = schemas.map(|(path, schema)| (format!("{path}{EXTENSION}"), schema));
        let schemas: std::collections::BTreeMap<_, _> = schemas.collect();
        for (path, text) in files() {
            let init = || schemars::schema_for!(InitContext);
            let schema = schemas.get(&path).cloned().unwrap_or_else(init);
            for is_true in [true, false] {
                let context = Context::from(example(schema.as_value(), is_true));
                let whole = engine::whole(text, &context);
                assert_eq!(render(&path, text, &context), whole, "{path}");
            }
        }
    }

    /// A value of an object with that schema.
    fn example(schema: &serde_json::Value, is_true: bool) -> serde_json::Value {
        let fields = schema["properties"].as_object().into_iter().flatten();
        let fields = fields.map(|(name, field)| {
            let value = match field["type"].as_str() {
                Some("boolean") => is_true.into(),
                Some("array") => serde_json::json!([{ "kind": "A", "module": "a" }]),
                _ => name.as_str().into(),
            };
            (name.clone(), value)
        });
        serde_json::Value::Object(fields.collect())
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
