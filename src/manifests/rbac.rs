//! Turns RBAC markers into roles: the manager's ClusterRole, and others that markers request. If the
//! operator watches namespaces, each of them has a Role instead, with its binding.
//!
//! Rules are split into single resources and merged again, so that equal permissions give equal text
//! however their markers were written. The arguments of a marker are in [`arguments`].

mod arguments;
mod cluster_scoped;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use self::arguments::RbacArguments;
use super::code_marker::{CodeMarker, MarkerError, MarkerKind, parse_all};
use super::watched::Watched;
use crate::names::objects::{MANAGER, MANAGER_BINDING, MANAGER_ROLE, NAMESPACE};

/// The namespace of a role, or none for a ClusterRole, and its name.
type RoleKey = (Option<String>, String);

/// Several words, sorted, without duplicates.
type WordSet = BTreeSet<String>;

/// What a rule applies to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Target {
    /// A group, one of its resources, and the names of objects, if it is only for these.
    Resource(String, String, WordSet),
    Url(String),
}

/// The documents of `config/rbac/role.yaml`: first the manager's ClusterRole, which always exists, or
/// its Role in each namespace that is `watched`.
pub(crate) fn roles(
    markers: &[CodeMarker],
    own_namespace: &str,
    watched: Option<&Watched>,
) -> Result<Vec<Value>, Vec<MarkerError>> {
    let everywhere: Vec<Option<String>> = match watched {
        Some(watched) => watched.iter().cloned().map(Some).collect(),
        None => vec![None],
    };
    let mut roles: BTreeMap<RoleKey, BTreeMap<Target, WordSet>> = BTreeMap::new();
    for namespace in &everywhere {
        let role = roles.entry((namespace.clone(), MANAGER_ROLE.to_owned()));
        let rules = role.or_default();
        if namespace.is_some() {
            // The operator sees whether the namespace exists: a Role can grant it for its own.
            let itself = Target::Resource(String::new(), "namespaces".to_owned(), WordSet::new());
            rules.insert(itself, WordSet::from(["get".to_owned()]));
        }
    }
    let mut errors = Vec::new();
    let parse =
        |marker: &CodeMarker| RbacArguments::parse(marker, own_namespace, watched.is_some());
    for (_, arguments) in parse_all(markers, MarkerKind::Rbac, parse, &mut errors) {
        let own = [Some(NAMESPACE.to_owned())];
        let namespaces = match arguments.namespace {
            Some(_) => &own[..],
            None => &everywhere,
        };
        for namespace in namespaces {
            let role = roles.entry((namespace.clone(), arguments.role.clone()));
            let rules = role.or_default();
            for target in arguments.targets() {
                let verbs = rules.entry(target).or_default();
                verbs.extend(arguments.verbs.iter().cloned());
            }
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let documents = |(key, rules)| documents(key, rules, watched.is_some());
    Ok(roles.iter().flat_map(documents).collect())
}

/// The words with equal keys, together.
fn merged<K: Ord>(words: impl Iterator<Item = (K, String)>) -> BTreeMap<K, WordSet> {
    let mut merged: BTreeMap<K, WordSet> = BTreeMap::new();
    for (key, word) in words {
        merged.entry(key).or_default().insert(word);
    }
    merged
}

/// Merges single resources: first those of one group with equal verbs, then the groups whose
/// resources and verbs are equal. Nothing is granted that no marker granted.
fn rules(targets: &BTreeMap<Target, WordSet>) -> Vec<Value> {
    let by_group = merged(targets.iter().filter_map(|(target, verbs)| match target {
        Target::Resource(group, resource, names) => Some(((group, names, verbs), resource.clone())),
        Target::Url(_) => None,
    }));
    let by_resources = merged(by_group.into_iter().map(|(key, resources)| {
        let (group, names, verbs) = key;
        ((resources, names, verbs), group.clone())
    }));
    let by_verbs = merged(targets.iter().filter_map(|(target, verbs)| match target {
        Target::Url(url) => Some((verbs, url.clone())),
        Target::Resource(..) => None,
    }));
    let mut rules: Vec<(WordSet, WordSet, &WordSet, &WordSet)> = by_resources
        .into_iter()
        .map(|((resources, names, verbs), groups)| (groups, resources, names, verbs))
        .collect();
    rules.sort();
    let of_resources = rules.into_iter().map(|(groups, resources, names, verbs)| {
        if names.is_empty() {
            json!({"apiGroups": groups, "resources": resources, "verbs": verbs})
        } else {
            json!({"apiGroups": groups, "resourceNames": names, "resources": resources, "verbs": verbs})
        }
    });
    let granted = by_verbs.into_iter();
    let of_urls = granted.map(|(verbs, urls)| json!({"nonResourceURLs": urls, "verbs": verbs}));
    of_resources.chain(of_urls).collect()
}

/// A role. The scaffold binds the manager's ClusterRole; any other role has its binding here, or it
/// would grant nothing. Names are those of the base, which kustomize turns into the project's.
///
/// In a namespaced project bindings have a label, by which `config/default` finds bindings whose
/// account is in another namespace.
fn documents(
    (namespace, name): &RoleKey,
    targets: &BTreeMap<Target, WordSet>,
    is_namespaced: bool,
) -> Vec<Value> {
    let (kind, metadata) = match namespace {
        Some(namespace) => ("Role", json!({"name": name, "namespace": namespace})),
        None => ("ClusterRole", json!({"name": name})),
    };
    let [role, mut binding] = bound_role(kind, metadata, rules(targets));
    if namespace.is_none() && name == MANAGER_ROLE {
        return vec![role];
    }
    let of_binding = &mut binding["metadata"];
    if is_namespaced {
        of_binding["labels"] = json!({"control-plane": MANAGER});
    }
    if is_namespaced && name == MANAGER_ROLE {
        of_binding["name"] = json!(MANAGER_BINDING);
    }
    vec![role, binding]
}

/// A role, and a binding of the same name that gives it to the manager.
pub(super) fn bound_role(kind: &str, metadata: Value, rules: Vec<Value>) -> [Value; 2] {
    const GROUP: &str = "rbac.authorization.k8s.io";
    let api = format!("{GROUP}/v1");
    let account = json!({"kind": "ServiceAccount", "name": MANAGER, "namespace": NAMESPACE});
    let binding = json!({
        "apiVersion": api,
        "kind": format!("{kind}Binding"),
        "metadata": metadata,
        "roleRef": {"apiGroup": GROUP, "kind": kind, "name": metadata["name"]},
        "subjects": [account],
    });
    let role = json!({"apiVersion": api, "kind": kind, "metadata": metadata, "rules": rules});
    [role, binding]
}

#[cfg(test)]
mod tests {
    use super::super::code_marker::read;
    use super::*;

    fn documents_of(source: &str) -> Result<Vec<Value>, Vec<String>> {
        let (markers, errors) = read("src/a.rs", source);
        assert_eq!(errors, []);
        roles(&markers, "own-system", None).map_err(|errors| {
            errors
                .iter()
                .map(|error| format!("{error}; {}", error.help))
                .collect()
        })
    }

    /// The rules of the manager's ClusterRole.
    fn rules_of(source: &str) -> Value {
        documents_of(source).expect("understood")[0]["rules"].clone()
    }

    #[test]
    fn equal_permissions_give_equal_rules() {
        let expected = json!([{"apiGroups": ["batch"], "resources": ["cronjobs", "jobs"], "verbs": ["get", "list"]}]);
        for source in [
            "// +kbr:rbac:groups=batch,resources=jobs;cronjobs,verbs=list;get",
            "// +kbr:rbac:groups=batch,resources=jobs,verbs=get;list\n// +kbr:rbac:groups=batch,resources=cronjobs,verbs=get;list",
            "// +kbr:rbac:groups=batch,resources=jobs;cronjobs,verbs=get\n// +kbr:rbac:groups=batch,resources=cronjobs;jobs,verbs=list",
        ] {
            assert_eq!(rules_of(source), expected, "{source}");
        }
    }

    #[test]
    fn nothing_is_granted_that_no_marker_granted() {
        assert_eq!(
            rules_of(
                "// +kbr:rbac:groups=a,resources=x,verbs=get\n// +kbr:rbac:groups=b,resources=x;y,verbs=get"
            ),
            json!([
                {"apiGroups": ["a"], "resources": ["x"], "verbs": ["get"]},
                {"apiGroups": ["b"], "resources": ["x", "y"], "verbs": ["get"]},
            ])
        );
        assert_eq!(
            rules_of(
                "// +kbr:rbac:groups=a,resources=x,resourceNames=one,verbs=get\n// +kbr:rbac:groups=a,resources=x,verbs=list"
            ),
            json!([
                {"apiGroups": ["a"], "resources": ["x"], "verbs": ["list"]},
                {"apiGroups": ["a"], "resourceNames": ["one"], "resources": ["x"], "verbs": ["get"]},
            ])
        );
    }

    #[test]
    fn groups_with_equal_resources_are_one_rule_and_core_is_the_empty_group() {
        assert_eq!(
            rules_of("// +kbr:rbac:groups=core;events.k8s.io,resources=events,verbs=create;patch"),
            json!([{"apiGroups": ["", "events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]}])
        );
    }

    #[test]
    fn urls_and_namespaces_have_rules_of_their_own() {
        let all = documents_of("// +kbr:rbac:urls=/metrics,verbs=get\n// +kbr:rbac:groups=\"\",resources=pods,verbs=get,namespace=own-system")
            .expect("understood");
        assert_eq!(
            all[0]["rules"],
            json!([{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}])
        );
        let kinds: Vec<&str> = all
            .iter()
            .filter_map(|document| document["kind"].as_str())
            .collect();
        assert_eq!(kinds, ["ClusterRole", "Role", "RoleBinding"]);
        assert_eq!(
            all[1]["metadata"],
            json!({"name": "manager-role", "namespace": "system"})
        );
    }

    #[test]
    fn a_role_with_another_name_has_its_binding() {
        let all = documents_of("// +kbr:rbac:groups=a,resources=x,verbs=get,roleName=other")
            .expect("understood");
        let kinds: Vec<&str> = all
            .iter()
            .filter_map(|document| document["kind"].as_str())
            .collect();
        assert_eq!(kinds, ["ClusterRole", "ClusterRole", "ClusterRoleBinding"]);
        assert_eq!(all[2]["roleRef"]["name"], "other");
    }

    /// Kind, namespace and name of each document, for an operator that watches `a` and its own namespace.
    fn watching(source: &str) -> Vec<(String, String, String)> {
        let (markers, errors) = read("src/a.rs", source);
        assert_eq!(errors, []);
        let deployment = "kind: Deployment\nmetadata: {labels: {control-plane: controller-manager}}\nspec: {template: {spec: {containers: [{name: manager, env: [{name: \
                          WATCH_NAMESPACE, value: \"a,own-system\"}]}]}}}";
        let watched = Watched::read(Some(deployment), "own-system").expect("two namespaces");
        let documents = roles(&markers, "own-system", Some(&watched)).expect("understood");
        let key = |document: &Value| {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let metadata = &document["metadata"];
            let (namespace, name) = (text(&metadata["namespace"]), text(&metadata["name"]));
            (text(&document["kind"]), namespace, name)
        };
        documents.iter().map(key).collect()
    }

    #[test]
    fn each_watched_namespace_has_each_role_with_its_binding() {
        let source = "// +kbr:rbac:groups=a,resources=x,verbs=get\n\
                      // +kbr:rbac:groups=a,resources=y,verbs=get,roleName=other\n\
                      // +kbr:rbac:groups=a,resources=z,verbs=get,namespace=own-system,roleName=own";
        let mut expected = Vec::new();
        for (namespace, role, binding) in [
            ("a", "manager-role", "manager-rolebinding"),
            ("a", "other", "other"),
            ("system", "manager-role", "manager-rolebinding"),
            ("system", "other", "other"),
            ("system", "own", "own"),
        ] {
            for (kind, name) in [("Role", role), ("RoleBinding", binding)] {
                expected.push((kind.to_owned(), namespace.to_owned(), name.to_owned()));
            }
        }
        assert_eq!(watching(source), expected);
    }

    #[test]
    fn the_operator_may_get_the_namespace_that_it_watches() {
        let watched = Watched::own();
        let documents = roles(&[], "own-system", Some(&watched)).expect("no markers");
        assert_eq!(
            documents[0]["rules"],
            json!([{"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"]}])
        );
    }

    #[test]
    fn without_markers_the_manager_may_do_nothing() {
        assert_eq!(rules_of(""), json!([]));
    }

    #[test]
    fn rules_that_would_never_grant_anything_are_refused() {
        let refusal = |source: &str| documents_of(source).expect_err(source).join("\n");
        assert_eq!(
            refusal("// +kbr:rbac:groups=a,resource=x,verbs=get"),
            "src/a.rs:1:1: unknown argument `resource` of `+kbr:rbac`; did you mean `resources`?"
        );
        assert!(refusal("// +kbr:rbac:groups=a,resources=x").contains("without `verbs`"));
        assert!(refusal("// +kbr:rbac:groups=a,resources=x,verbs=GET").contains("in lower case"));
        let elsewhere = refusal("// +kbr:rbac:groups=a,resources=x,verbs=get,namespace=other");
        assert!(elsewhere.contains("not the operator's own"), "{elsewhere}");
        let two = refusal("// +kbr:rbac:groups=a,resources=x,verbs=get,namespace=a;b");
        assert!(two.contains("`namespace` takes one word"), "{two}");
        assert!(refusal("// +kbr:rbac:verbs=get").contains("either `resources` or `urls`"));
        assert!(
            refusal("// +kbr:rbac:groups=a,resources=x,urls=/y,verbs=get")
                .contains("either `resources` or `urls`")
        );
        assert!(refusal("// +kbr:rbac:resources=x,verbs=get").contains("go together"));
        for (arguments, expected) in [
            (
                "groups=apps,resources=Deployments,verbs=get",
                "`Deployments` cannot be the name of a resource; write the plural in lower case",
            ),
            (
                "groups=apps,resources=deployments/,verbs=get",
                "`deployments/` cannot be the name of a resource",
            ),
            (
                "groups=apps,resources=deploy ments,verbs=get",
                "`deploy ments` cannot be the name of a resource",
            ),
            (
                "groups=apps/v1,resources=deployments,verbs=get",
                "`apps/v1` cannot be the name of an API group; write `groups=apps`",
            ),
            (
                "groups=Apps,resources=deployments,verbs=get",
                "`Apps` cannot be the name of an API group",
            ),
            (
                "groups=apps,resources=deployments,verbs=gett;wacth",
                "no request has the verb `gett`; did you mean `get`?",
            ),
            (
                "groups=apps,resources=deployments,verbs=get;wacth",
                "no request has the verb `wacth`; did you mean `watch`?",
            ),
            ("urls=metrics,verbs=get", "`metrics` is not a path of a URL"),
            ("urls=/a*b,verbs=get", "`/a*b` is not a path of a URL"),
            (
                "groups=a,resources=x,verbs=get,roleName=a/b",
                "`a/b` cannot be the name of a role",
            ),
            (
                "groups=a,resources=x,verbs=get,roleName=A",
                "`A` cannot be the name of a role",
            ),
        ] {
            let refused = refusal(&format!("// +kbr:rbac:{arguments}"));
            assert!(refused.contains(expected), "{refused}");
        }
        for fine in [
            "groups=*,resources=*;*/status;pods/log,verbs=*",
            "groups=\"\",resources=users,verbs=impersonate",
            "groups=a.example.com,resources=vms/sev/fetch,verbs=teleport;impersonate:user-info",
            "urls=/healthz/*;*,verbs=get;post;head",
            "groups=a,resources=x,verbs=get,roleName=system:a.b-c",
        ] {
            documents_of(&format!("// +kbr:rbac:{fine}")).expect(fine);
        }
        assert!(
            refusal("// +kbr:rbac:urls=/x,verbs=get,namespace=own-system").contains("cluster-wide")
        );
    }
}
