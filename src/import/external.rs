//! The CRD of one type of another operator, in a file that has others too. Pure.

use crate::manifests::external::{Sample, sample};
use crate::manifests::json::{list_of, text_of};
use crate::yaml::{self, YamlError};

/// The requested type, as found in a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ExternalCrd {
    /// The text of its document only.
    pub(crate) text: String,
    pub(crate) plural: String,
    pub(crate) is_cluster_scoped: bool,
    /// An object with only the fields that the schema requires.
    pub(crate) sample: Sample,
}

/// Why a file does not have the type.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Absent {
    /// It is not YAML.
    Broken(YamlError),
    /// It has these kinds, each as `GROUP KIND`.
    NoKind(Vec<String>),
    /// It has the kind in these versions.
    NoVersion(Vec<String>),
}

/// The CRD of that kind among the documents of `text`, which is that of the file at `path`.
pub(crate) fn find(
    path: &str,
    text: &str,
    group: &str,
    version: &str,
    kind: &str,
) -> Result<ExternalCrd, Absent> {
    let mut kinds = Vec::new();
    for document in yaml::documents(text) {
        let parsed = document.read(path).map_err(Absent::Broken)?;
        if parsed["kind"] != "CustomResourceDefinition" {
            continue;
        }
        let spec = &parsed["spec"];
        let (its_group, its_kind) = (text_of(spec, "group"), text_of(spec, "/names/kind"));
        if (its_group, its_kind) != (group, kind) {
            kinds.push(format!("{its_group} {its_kind}"));
            continue;
        }
        let versions = list_of(spec, "versions").iter();
        let served = versions.filter(|it| it["served"] == true);
        let Some(found) = served.clone().find(|it| it["name"] == version) else {
            let names = served.map(|it| text_of(it, "name").to_owned());
            return Err(Absent::NoVersion(names.collect()));
        };
        let schema = &found["schema"]["openAPIV3Schema"];
        return Ok(ExternalCrd {
            // The API server knows no merge keys.
            text: if document.text.contains("<<:") {
                yaml::write(&parsed)
            } else {
                format!("{}\n", document.text.trim_matches('\n'))
            },
            plural: text_of(spec, "/names/plural").to_owned(),
            is_cluster_scoped: spec["scope"] == "Cluster",
            sample: sample(schema, &format!("{group}/{version}"), kind),
        });
    }
    Err(Absent::NoKind(kinds))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CRDS: &str = "---
# First.
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
spec:
  group: example.com
  names: {kind: Other, plural: others}
---
apiVersion: v1
kind: ConfigMap
---
# Second.
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
spec:
  group: example.com
  names: {kind: Thing, plural: things}
  scope: Cluster
  versions:
  - name: v1
    served: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
  - name: v0
    served: false
";

    #[test]
    fn the_type_is_found_among_others() {
        let found = find("a.yaml", CRDS, "example.com", "v1", "Thing").expect("the type");
        assert!(found.text.starts_with("# Second.\n") && found.text.ends_with("served: false\n"));
        assert_eq!((&*found.plural, found.is_cluster_scoped), ("things", true));
    }

    #[test]
    fn merge_keys_are_resolved() {
        let crds = CRDS
            .replace(
                "  scope: Cluster\n",
                "  scope: Cluster\n  x-schema: &it\n    type: object\n",
            )
            .replace("        type: object\n", "        <<: *it\n");
        let found = find("a.yaml", &crds, "example.com", "v1", "Thing").expect("the type");
        assert!(
            found.sample.object.get("spec").is_some() || !found.text.contains("<<"),
            "{found:?}"
        );
        assert!(!found.text.contains("<<"), "{}", found.text);
    }

    #[test]
    fn a_missing_type_is_reported_with_those_that_exist() {
        let find =
            |version, kind| find("a.yaml", CRDS, "example.com", version, kind).expect_err("none");
        assert_eq!(
            find("v0", "Thing"),
            Absent::NoVersion(vec!["v1".to_owned()])
        );
        assert_eq!(
            find("v1", "Nothing"),
            Absent::NoKind(vec![
                "example.com Other".to_owned(),
                "example.com Thing".to_owned()
            ])
        );
        assert!(matches!(
            super::find(
                "a.yaml",
                "{{ if .Values }}: [",
                "example.com",
                "v1",
                "Thing"
            ),
            Err(Absent::Broken(_))
        ));
        for text in [
            "",
            "---\n",
            "null",
            "[1]",
            "kind: CustomResourceDefinition\nspec: 3",
        ] {
            let absent = super::find("a.yaml", text, "example.com", "v1", "Thing");
            assert!(matches!(absent, Err(Absent::NoKind(_))), "{text}");
        }
    }
}
