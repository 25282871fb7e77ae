//! Which kinds the project gets, and which it cannot have.

use serde_json::json;

use super::*;
use crate::cli::{Cli, Command, Create, Known};
use crate::commands::create_api::{self, Parts};
use crate::commands::create_webhook;
use crate::import::documents::CrdDocument;
use crate::names::Group;
use crate::plan::Change;
use crate::project::License;
use crate::tree::Tree;

fn project(multigroup: bool) -> Project {
    let name = "sandbox".parse().expect("a name");
    let domain = "example.com".parse().expect("a domain");
    let mut project = Project::new(name, domain, License::None);
    project.multigroup = multigroup;
    project
}

fn documents(crds: &[(&str, &str)]) -> Documents {
    let crds = crds.iter().map(|(group, kind)| {
        let plural = format!("{}s", kind.to_lowercase());
        let crd = json!({
            "metadata": { "name": format!("{plural}.{group}") },
            "spec": {
                "group": group, "scope": "Namespaced",
                "names": { "kind": kind, "plural": plural, "singular": kind.to_lowercase() },
                "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                    "type": "object", "required": ["spec"],
                    "properties": { "spec": { "type": "object", "properties": { "a": { "type": "string" } } } },
                } } }],
            },
        });
        CrdDocument { crd, file: "crds.yaml".to_owned(), line: 1 }
    });
    Documents {
        crds: crds.collect(),
        notes: Vec::new(),
    }
}

fn args(except: &[&str]) -> ImportCrdArgs {
    ImportCrdArgs {
        paths: Vec::new(),
        except: except.iter().map(|it| (*it).to_owned()).collect(),
        force: false,
        group_module: Vec::new(),
    }
}

fn imported(project: Project, crds: &[(&str, &str)]) -> Result<Project> {
    let desired = plan(project, &args(&[]), documents(crds))?;
    Ok(desired.project.expect("a project"))
}

fn refusal(project: Project, crds: &[(&str, &str)]) -> String {
    imported(project, crds).expect_err("a refusal").to_string()
}

#[test]
fn a_group_need_not_be_below_the_domain() {
    for (group, name, domain) in [
        ("crew.example.com", Some("crew"), "example.com"),
        ("example.com", None, "example.com"),
        ("crew.sea.org", Some("crew"), "sea.org"),
    ] {
        let project = imported(project(false), &[(group, "Captain")]).expect("an import");
        let resource = &project.resources[0];
        assert_eq!(resource.group.as_ref().map(Group::as_str), name);
        let Origin::Own { api, domain: its } = &resource.origin else {
            panic!("{resource:?}")
        };
        assert_eq!(its.as_str(), domain);
        assert!(api.imported && resource.is_stored());
        assert_eq!(resource.qualified_group(), group);
        // PROJECT can be read again.
        let text = yaml::write(&project);
        assert_eq!(Project::parse(&text).expect("a project"), project);
    }
}

#[test]
fn several_groups_make_an_empty_project_one_of_several() {
    let both = [("a.sea.org", "Captain"), ("b.sea.org", "Mate")];
    assert!(
        imported(project(false), &both)
            .expect("an import")
            .multigroup
    );
    let one = imported(project(false), &both[..1]).expect("an import");
    assert!(!one.multigroup);
    let message = refusal(one, &both[1..]);
    assert!(
        message.contains("b.sea.org") && message.contains("a.sea.org"),
        "{message}"
    );
}

#[test]
fn what_exists_or_cannot_be_is_refused() {
    let captain = [("crew.example.com", "Captain")];
    let one = imported(project(false), &captain).expect("an import");
    let message = refusal(one, &captain);
    assert!(message.contains("crew.example.com/v1 Captain"), "{message}");
    let message = refusal(project(false), &[("crew.k8s.io", "Captain")]);
    assert!(message.contains("protected"), "{message}");
    let message = refusal(project(false), &[("crew.example.com", "Vec")]);
    assert!(
        message.contains("vecs.crew.example.com") && message.contains("Vec"),
        "{message}"
    );
}

/// Whatever is wrong with one CRD of a folder, the others can be imported.
#[test]
fn the_error_of_one_crd_says_how_to_leave_it_out() {
    let long = "a".repeat(60);
    let groups = format!("{long}.{long}.{long}.{long}.org");
    for (group, kind) in [
        ("crew.k8s.io", "Sailor"),
        ("ship.example.com", "Sailor"),
        ("crew.example.com", "Captains"),
        ("crew.example.com", "CaptainList"),
        ("crew.example.com", "Vec"),
        ("crew.example.com", "my-kind"),
        (&groups, "Sailor"),
    ] {
        let project = imported(project(false), &[("crew.example.com", "Captain")]);
        let error = imported(project.expect("an import"), &[(group, kind)]).expect_err(kind);
        let help = miette::Diagnostic::help(&error)
            .expect("a help")
            .to_string();
        let expected = format!("add `--except {}s.{group}`", kind.to_lowercase());
        assert!(help.contains(&expected), "{error}: {help}");
    }
}

#[test]
fn the_files_are_those_of_a_type() {
    let crds = documents(&[("crew.example.com", "Captain")]);
    let desired = plan(project(false), &args(&[]), crds).expect("an import");
    let text = format!("{:#?}", desired.changes);
    for path in ["api/src/v1/captain_types.rs", "captain_editor_role.yaml"] {
        assert!(text.contains(path), "{path}");
    }
    assert!(text.contains("pub a: Option<String>"), "{text}");
}

#[test]
fn crds_can_be_left_out() {
    let crds = documents(&[("crew.example.com", "Captain"), ("crew.example.com", "Vec")]);
    let plan = |except: &[&str]| plan(project(false), &args(except), crds.clone());
    let message = plan(&[]).expect_err("`Vec` cannot be a kind");
    assert!(
        format!("{message:?}").contains("vecs.crew.example.com"),
        "{message:?}"
    );
    let desired = plan(&["vecs.crew.example.com"]).expect("an import");
    let kinds = desired.project.expect("a project").resources;
    let kinds: Vec<&str> = kinds.iter().map(|it| it.kind.as_str()).collect();
    assert_eq!(kinds, ["Captain"]);
    let message = plan(&["vecs"]).expect_err("no such CRD").to_string();
    assert_eq!(message, "no CRD is called `vecs`");
}

/// The texts of the files that a command creates in the project.
fn created(project: &Project, line: &str) -> Vec<(String, String)> {
    let args: Vec<_> = format!("kbr {line}").split(' ').map(Into::into).collect();
    let cli = Cli::of(&args, &Known::default()).expect("a line");
    let desired = match cli.command {
        Command::Create(Create::Api(args)) => {
            let parts = Parts {
                resource: false,
                controller: true,
            };
            create_api::plan(project.clone(), &args, parts, None)
        }
        Command::Create(Create::Webhook(args)) => {
            create_webhook::plan(project.clone(), &args, None, &Tree::default())
        }
        _ => panic!("{line}"),
    };
    let changes = desired.expect(line).changes.into_iter();
    let created = changes.filter_map(|change| match change {
        Change::Create { path, text, .. } => Some((path, text)),
        _ => None,
    });
    created.collect()
}

#[test]
fn what_is_scaffolded_for_an_imported_kind_assumes_no_fields() {
    for (group, typed) in [
        ("crew.example.com", "crew"),
        ("crew.sea.org", "crew"),
        ("crew.sea.org", "crew.sea.org"),
    ] {
        let mut crds = documents(&[(group, "Captain")]);
        let versions = &mut crds.crds[0].crd["spec"]["versions"];
        let mut second = versions[0].clone();
        second["name"] = json!("v2");
        second["storage"] = json!(false);
        versions.as_array_mut().expect("a list").push(second);
        let desired = plan(project(false), &args(&[]), crds).expect("an import");
        let project = desired.project.expect("a project");
        for line in [
            "create api --resource=false --version v1 --kind Captain",
            "create webhook --version v1 --kind Captain --conversion --spoke v2",
        ] {
            let files = created(&project, &format!("{line} --group {typed}"));
            let sources: Vec<_> = files
                .iter()
                .filter(|(path, _)| path.ends_with(".rs"))
                .collect();
            assert!(sources.len() > 1, "{line}: {files:?}");
            for (path, text) in sources {
                for field in ["conditions", "observed_generation", "foo"] {
                    assert!(!text.contains(field), "{path} has `{field}`:\n{text}");
                }
            }
        }
    }
}
