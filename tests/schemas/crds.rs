//! The CRDs that `kbr manifests` generates from the types of these tests, and what the API server does with
//! them and with their objects.
//!
//! No project is compiled: a fake cargo prints what `crdgen` would.

mod controller_gen;
mod kubernetes;
mod markers;
mod size;
mod strings;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use kube::CustomResourceExt;
use schemars::JsonSchema;
use schemars::generate::{Contract, SchemaSettings};
use serde_json::{Value, json};

use crate::support::api_server::api_server;
use crate::support::{Run, Sandbox};

/// What `crdgen` prints for a type.
fn describe<T: CustomResourceExt + JsonSchema>() -> Value {
    let mut crd = T::crd();
    for version in &mut crd.spec.versions {
        version.schema = None;
    }
    json!({
        "type": T::crd_name(),
        "crd": crd,
        "serialize": schema::<T>(Contract::Serialize),
        "deserialize": schema::<T>(Contract::Deserialize),
    })
}

fn schema<T: JsonSchema>(contract: Contract) -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.meta_schema = None;
    settings.contract = contract;
    json!(settings.into_generator().into_root_schema_for::<T>())
}

/// A project with one kind, and the fake cargo that describes the kind.
struct Project {
    sandbox: Sandbox,
    file: String,
}

impl Project {
    fn of<T: CustomResourceExt + JsonSchema>() -> Self {
        Self::of_versions(&[describe::<T>()])
    }

    /// A project with the versions of one kind, the stored version first, in the group `crds.example.com`.
    fn of_versions(entries: &[Value]) -> Self {
        let sandbox = Sandbox::with_project();
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        for entry in entries {
            let spec = &entry["crd"]["spec"];
            let (kind, plural) = (&spec["names"]["kind"], &spec["names"]["plural"]);
            let line = format!(
                "create api --group crds --kind {} --plural {} --version {} --namespaced={}",
                text(kind),
                text(plural),
                text(&spec["versions"][0]["name"]),
                spec["scope"] == "Namespaced",
            );
            sandbox.kbr(&line).success();
        }
        sandbox.write("answer/crdgen.json", &json!(entries).to_string());
        sandbox.write("answer/cargo", "#!/bin/sh\ncat \"${0%/*}/crdgen.json\"\n");
        let cargo = sandbox.path().join("answer/cargo");
        fs::set_permissions(cargo, fs::Permissions::from_mode(0o755)).expect("the mode");
        let plural = text(&entries[0]["crd"]["spec"]["names"]["plural"]);
        let file = format!("config/crd/bases/crds.example.com_{plural}.yaml");
        Self { sandbox, file }
    }

    fn manifests(&self, options: &[&str]) -> Run {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kbr"));
        command.arg("manifests").args(options);
        command
            .current_dir(self.sandbox.path())
            .stdin(Stdio::null());
        let path = std::env::var("PATH").expect("a path");
        let cargo = self.sandbox.path().join("answer");
        command.env("PATH", format!("{}:{path}", cargo.display()));
        command.output().expect("kbr runs").into()
    }

    fn crd(&self) -> String {
        self.manifests(&[]).success();
        self.sandbox.read(&self.file)
    }
}

/// Makes the API server serve a type, whose CRD it must accept without a warning.
fn install<T: CustomResourceExt + JsonSchema>() {
    install_crd(&Project::of::<T>().crd(), T::crd_name());
}

fn install_crd(crd: &str, name: &str) {
    let created = api_server().kubectl("create -f -", crd);
    assert_eq!(created.success().stderr, "");
    let wait = format!("wait --for=condition=Established --timeout=5s crd/{name}");
    // It fails immediately if the CRD is so new that it has no conditions.
    let is_served = || api_server().kubectl(&wait, "").code() == Some(0);
    assert!((0..12).any(|_| is_served()), "{name}");
}
