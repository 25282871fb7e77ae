//! `kbr import crd`, proved: the CRDs that come out of the project are the same API as those that went in, and the Rust types read and
//! write what an API server stores under the given CRDs without loss.
//!
//! `import/crds` has every construct of structural schemas. `tests/tools/import-crds FOLDER…` does the same with other CRDs.

mod project;
mod round_trip;
mod same;
/// Emitted projects test their conversions with the same values.
#[path = "../../templates/kbr-testing/src"]
mod testing {
    #[allow(
        dead_code,
        reason = "it also makes metadata, for the tests of conversions"
    )]
    mod values;

    pub fn values_of(
        schema: &serde_json::Value,
    ) -> proptest::strategy::BoxedStrategy<serde_json::Value> {
        values::values(schema)
    }
}

use std::path::{Path, PathBuf};
use std::{env, fs};

use crate::support::api_server::api_server;
use crate::support::{REPOSITORY, compiling};
use project::Imported;

/// Folders of CRDs, separated by colons, in place of those in `import/crds`.
const FOLDERS: &str = "KBR_IMPORT_CRDS";

/// How many objects of each version the API server must store.
const OBJECTS: &str = "KBR_IMPORT_OBJECTS";

/// A file for the rows of a table, one for each folder.
const TABLE: &str = "KBR_IMPORT_TABLE";

fn folders() -> Vec<PathBuf> {
    match env::var(FOLDERS) {
        Ok(folders) => folders.split(':').map(PathBuf::from).collect(),
        Err(_) => vec![Path::new(REPOSITORY).join("tests/schemas/import/crds")],
    }
}

#[test]
fn crds_come_out_as_they_went_in() {
    let objects = env::var(OBJECTS).map_or(20, |number| number.parse().expect("a number"));
    let (mut rows, mut wrong) = (String::new(), Vec::new());
    for folder in folders() {
        let name = folder
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let proved = {
            // First: whoever has this lock may be waiting for the other one.
            let _started = api_server();
            let _compiling = compiling();
            Imported::of(&folder).and_then(|imported| {
                let trips = round_trip::all(&imported, objects)?;
                Ok(format!("{} | {trips}", imported.row))
            })
        };
        match proved {
            Ok(row) => rows += &format!("| {name} | {row} |\n"),
            Err(problem) => {
                let first = problem.lines().next().unwrap_or_default();
                rows += &format!("| {name} | {first} |\n");
                wrong.push(format!("{name}: {problem}"));
            }
        }
        if let Ok(table) = env::var(TABLE) {
            fs::write(&table, &rows).expect("the table");
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
