//! Pauses objects: the operator does not reconcile them.

use std::collections::BTreeMap;

use serde_json::json;

use super::session::Session;
use crate::layout::Place;
use crate::project::Project;
use crate::report::Happening;

/// Tells an operator that objects can be paused.
pub(super) const VARIABLE: &str = "KBR_DEV";

impl Session<'_> {
    /// Pauses the object of that controller, or resumes it.
    pub(super) fn pause(&mut self, controller: &str, object: &str) {
        let Some(resource) = self.resources.get(controller) else {
            let text = format!("PROJECT has no controller `{controller}`, so its kind is unknown");
            return self.tell(Happening::warning(&text));
        };
        let Some(helper) = &mut self.helper else {
            let text = "no object can be paused now: the API server of kbr dev does not run";
            return self.tell(Happening::warning(text));
        };
        let key = (controller.to_owned(), object.to_owned());
        let is_paused = !self.paused.remove(&key);
        if is_paused {
            self.paused.insert(key);
        }
        let request = json!({ "resource": resource, "object": object, "is_paused": is_paused });
        helper
            .process
            .send(&json!({ "pause": request }).to_string());
    }
}

/// The resource of each controller, such as `jobs.batch`.
pub(super) fn resources(project: &Project) -> BTreeMap<String, String> {
    let resources = project.resources.iter().flat_map(|resource| {
        let (plural, group) = (&resource.plural, resource.qualified_group());
        let full = match group.as_str() {
            "" | "core" => plural.to_string(),
            group => format!("{plural}.{group}"),
        };
        let place = Place::of(project, resource);
        let names = resource.controllers.iter();
        names.map(move |name| (place.controller_name(name.as_ref()), full.clone()))
    });
    resources.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_resource_of_a_controller_is_in_project() {
        let text = "\
cliVersion: \"0.2.0\"
domain: example.com
layout:
- kbr/v2
leaderElectionId: fleet-leader-election
license: apache2
projectName: fleet
resources:
- api:
    crdVersion: v1
    namespaced: true
    storage: true
  controller: true
  domain: example.com
  group: crew
  kind: Captain
  plural: captains
  version: v1
- controller: true
  core: true
  group: core
  kind: Pod
  plural: pods
  version: v1
version: \"3\"
";
        let resources = resources(&Project::parse(text).expect("a project"));
        for (controller, expected) in [
            ("captain", Some("captains.crew.example.com")),
            ("pod", Some("pods")),
            ("other", None),
        ] {
            assert_eq!(resources.get(controller).map(String::as_str), expected);
        }
    }
}
