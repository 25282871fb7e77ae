//! Projects whose types are those of the tests: a script in place of cargo prints what crdgen would print for them.

use super::{Run, Sandbox};
use kube::CustomResourceExt;
use schemars::JsonSchema;
use schemars::generate::{Contract, SchemaSettings};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

/// What crdgen prints for one type.
pub fn described<T: CustomResourceExt + JsonSchema>() -> Value {
    let schema = |contract| {
        let mut settings = SchemaSettings::draft2020_12();
        settings.meta_schema = None;
        settings.contract = contract;
        json!(settings.into_generator().into_root_schema_for::<T>())
    };
    let mut crd = T::crd();
    for version in &mut crd.spec.versions {
        version.schema = None;
    }
    json!({
        "type": format!("{}::{}", crd.spec.versions[0].name, crd.spec.names.kind),
        "crd": crd,
        "serialize": schema(Contract::Serialize),
        "deserialize": schema(Contract::Deserialize),
    })
}

/// The file with what crdgen prints.
pub const PRINTED: &str = "bin/printed.json";

/// A project with the kinds that crdgen prints.
pub struct Project(pub Sandbox);

impl Project {
    pub fn of(printed: &[Value]) -> Self {
        let sandbox = Sandbox::with_project();
        for entry in printed {
            let kind = entry["crd"]["spec"]["names"]["kind"]
                .as_str()
                .expect("a kind");
            let version = entry["crd"]["spec"]["versions"][0]["name"].as_str();
            let version = version.expect("a version");
            let line = format!("create api --kind {kind} --version {version} --controller=false");
            sandbox.kbr(&line).success();
        }
        sandbox.write("bin/cargo", "#!/bin/sh\ncat \"${0%/*}/printed.json\"\n");
        let cargo = sandbox.path().join("bin/cargo");
        fs::set_permissions(cargo, fs::Permissions::from_mode(0o755)).expect("a mode");
        let project = Self(sandbox);
        project.print(printed);
        project
    }

    /// Makes crdgen print that from now on.
    pub fn print(&self, printed: &[Value]) {
        self.0.write(PRINTED, &json!(printed).to_string());
    }

    pub fn kbr(&self, line: &str) -> Run {
        let path = std::env::var("PATH").unwrap_or_default();
        let bin = self.0.path().join("bin");
        let mut command = Command::new(env!("CARGO_BIN_EXE_kbr"));
        command
            .args(line.split_whitespace())
            .current_dir(self.0.path());
        command.env("PATH", format!("{}:{path}", bin.display()));
        let output = command.stdin(Stdio::null()).output();
        output.expect("kbr runs").into()
    }

    pub fn crd(&self, plural: &str) -> Value {
        let text = self
            .0
            .read(&format!("config/crd/bases/example.com_{plural}.yaml"));
        serde_saphyr::from_str(&text).expect("YAML")
    }
}
