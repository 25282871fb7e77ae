//! A project with the types of all CRDs of a folder, and a program that reads and writes objects with them.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use serde::Deserialize;
use serde_json::Value;

use crate::support::report::Report;
use crate::support::{Run, Sandbox, cargo, compiles_into, target};

/// Reads objects as lines, each below the path of its Rust type, and prints each as Rust writes it, or why it cannot be read.
const AGAIN: &str = r#"
use std::io::{self, BufRead, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

fn again<T: DeserializeOwned + Serialize>(object: Value) -> Value {
    let written = serde_json::from_value::<T>(object).and_then(|object| serde_json::to_value(object));
    written.unwrap_or_else(|error| json!({ "error": error.to_string() }))
}

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let (path, object): (String, Value) = serde_json::from_str(&line?)?;
        let written = match path.as_str() {
            ARMS
            _ => json!({ "error": format!("there is no type {path}") }),
        };
        writeln!(out, "{written}")?;
    }
    Ok(())
}
"#;

pub struct Imported {
    pub sandbox: Sandbox,
    /// The CRDs that went in.
    pub given: Vec<Value>,
    /// The same as kbr generates them from the types.
    pub crds: Vec<Value>,
    /// The columns of a table: what the types needed.
    pub row: String,
    /// Paths of the types in the crate, such as `v1::Thing`.
    types: Vec<String>,
}

impl Imported {
    /// Imports the CRDs of a folder, compiles the types, and compares the CRDs.
    pub fn of(folder: &Path) -> Result<Self, String> {
        let sandbox = Sandbox::new();
        let init = "init --domain example.com --project-name imported";
        sandbox.kbr(init).success();
        let path = folder.to_str().expect("UTF-8");
        let start = Instant::now();
        let imported = passed(sandbox.run(&["import", "crd", path]))?;
        let import_seconds = start.elapsed().as_secs_f32();
        // Without their webhooks, versions would no longer be converted.
        let warnings = imported.stderr.lines();
        for line in warnings.filter(|line| line.contains("a webhook converts")) {
            let command = line
                .split("`kbr ")
                .nth(1)
                .and_then(|it| it.split('`').next());
            passed(sandbox.kbr(command.ok_or(line)?))?;
        }
        let start = Instant::now();
        passed(sandbox.kbr("manifests"))?;
        let compile_seconds = start.elapsed().as_secs_f32();
        let args = [
            "manifests",
            "--check",
            "--against-crds",
            path,
            "--output",
            "json",
        ];
        let report = Report::parse(&sandbox.run(&args).stdout);
        let forth = report.errors.iter().map(|error| error.message.clone());
        let back = report.rollback.iter().map(|line| format!("back: {line}"));
        let problems: Vec<String> = forth.chain(back).collect();
        if !problems.is_empty() {
            let some: Vec<&str> = problems.iter().take(40).map(String::as_str).collect();
            return Err(format!("{} breaks:\n{}", problems.len(), some.join("\n")));
        }
        let differences = report.safe.len();
        let crds = crds_of(&sandbox);
        let given = given(folder);
        if given.len() != crds.len() {
            return Err(format!(
                "{} CRDs went in, and {} came out",
                given.len(),
                crds.len()
            ));
        }
        let (types, texts) = types_of(&sandbox);
        let number = |word: &str| {
            texts
                .iter()
                .map(|text| text.matches(word).count())
                .sum::<usize>()
        };
        let versions: usize = crds
            .iter()
            .map(|crd| crd["spec"]["versions"].as_array().map_or(0, Vec::len))
            .sum();
        let row = format!(
            "{} | {versions} | {} | {} | {} | {} | {differences} | {import_seconds:.1} | {compile_seconds:.0}",
            crds.len(),
            number("\npub struct ") + number("\npub enum "),
            number("k8s_openapi::"),
            number("schema_with") + number("with = \"serde_json::Value\""),
            imported.stderr.matches("Warning").count(),
        );
        let imported = Self {
            sandbox,
            given,
            crds,
            row,
            types,
        };
        // Before there is a program of the test.
        imported.lint()?;
        imported.compile()?;
        Ok(imported)
    }

    /// The lints of the project find nothing in the types, and rustfmt would change nothing.
    fn lint(&self) -> Result<(), String> {
        for line in [
            "fmt --check",
            "clippy --offline -q -p imported-api -- -D warnings",
        ] {
            if !cargo(self.sandbox.path(), line) {
                return Err(format!("cargo {line} fails"));
            }
        }
        Ok(())
    }

    /// The sample of a version of a kind.
    pub fn sample(&self, group: &str, version: &str, kind: &str) -> Option<Value> {
        let samples = crate::support::tree(&self.sandbox.path().join("config/samples"));
        let mut samples = samples
            .values()
            .filter_map(|text| serde_saphyr::from_str::<Value>(text).ok());
        samples.find(|it| it["apiVersion"] == format!("{group}/{version}") && it["kind"] == kind)
    }

    fn compile(&self) -> Result<(), String> {
        let arms = self.types.iter().map(|path| {
            format!("{path:?} => again::<imported_api::{path}>(object),\n            ")
        });
        let program = AGAIN.replace("ARMS", &arms.collect::<String>());
        self.sandbox.write("api/src/bin/again.rs", &program);
        let line = "build --offline -q -p imported-api --bin again";
        match cargo(self.sandbox.path(), line) {
            true => Ok(()),
            false => Err(format!("cargo {line} fails")),
        }
    }

    /// The path of the type of that kind, version and group.
    pub fn type_of(&self, group: &str, version: &str, kind: &str) -> Option<&str> {
        let module = group
            .split('.')
            .next()
            .unwrap_or_default()
            .replace('-', "_");
        let short = format!("{version}::{kind}");
        let long = format!("{module}::{short}");
        let of_any = format!("::{short}");
        let is_it: [&dyn Fn(&str) -> bool; 2] = [
            &|path| path == long || path == short,
            // A group whose module has another name.
            &|path| path.ends_with(&of_any),
        ];
        let mut found = is_it
            .iter()
            .flat_map(|is_it| self.types.iter().filter(move |path| is_it(path)));
        found.next().map(String::as_str)
    }

    /// The objects as Rust writes them after reading them.
    pub fn again(&self, path: &str, objects: &[Value]) -> Vec<Value> {
        let lines = objects
            .iter()
            .map(|object| serde_json::json!([path, object]).to_string() + "\n");
        let lines: String = lines.collect();
        let file = self.sandbox.path().join("objects.jsonl");
        fs::write(&file, lines).expect("the file");
        let mut again = Command::new(target().join("debug/again"));
        compiles_into(&mut again, &target());
        again.stdin(Stdio::from(fs::File::open(&file).expect("the file")));
        let run = Run::from(again.output().expect("the program runs")).success();
        let lines = run.stdout.lines();
        lines
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect()
    }
}

fn passed(run: Run) -> Result<Run, String> {
    match run.code() {
        Some(0) => Ok(run),
        _ => Err(run.stderr),
    }
}

/// The CRDs in the files of a folder, each once.
fn given(folder: &Path) -> Vec<Value> {
    let files = crate::support::tree(folder);
    let texts = files
        .iter()
        .filter(|(path, _)| path.ends_with(".yaml") || path.ends_with(".yml"));
    let mut crds: Vec<Value> = Vec::new();
    for (_, text) in texts {
        for document in serde_yaml::Deserializer::from_str(text) {
            let Ok(mut document) = serde_yaml::Value::deserialize(document) else {
                continue;
            };
            document.apply_merge().expect("merge keys");
            let document: Value = serde_json::to_value(document).expect("JSON");
            let items = document["items"].as_array().cloned();
            let all = items.unwrap_or_else(|| vec![document]);
            let is_new = |crd: &Value| {
                crds.iter()
                    .all(|it| it["metadata"]["name"] != crd["metadata"]["name"])
            };
            let all: Vec<Value> = all
                .into_iter()
                .filter(|it| {
                    it["kind"] == "CustomResourceDefinition" && it["spec"]["versions"].is_array()
                })
                .filter(is_new)
                .collect();
            crds.extend(all);
        }
    }
    crds
}

fn crds_of(sandbox: &Sandbox) -> Vec<Value> {
    let files = crate::support::tree(&sandbox.path().join("config/crd/bases"));
    let texts = files.values().filter(|text| !text.is_empty());
    texts
        .map(|text| serde_saphyr::from_str(text).expect("YAML"))
        .collect()
}

/// The paths of all types in crdgen, and the sources.
fn types_of(sandbox: &Sandbox) -> (Vec<String>, Vec<String>) {
    let sources = crate::support::tree(&sandbox.path().join("api/src"));
    let crdgen = &sources["bin/crdgen.rs"];
    let lines = crdgen.lines().filter_map(|line| {
        let (_, rest) = line.trim().split_once(" describe::<imported_api::")?;
        Some(rest.split_once(">(")?.0.to_owned())
    });
    let types = lines.collect();
    let mut sources = sources;
    sources.remove("bin/crdgen.rs");
    (types, sources.into_values().collect())
}
