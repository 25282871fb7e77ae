// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;
use std::collections::BTreeSet;

/// What several rules allow, in the order of grants.
fn all(rules: &[Value]) -> BTreeSet<Grant> {
    rules.iter().flat_map(Grant::all).collect()
}

#[test]
fn a_rule_without_a_grant_allows_the_rest() {
    let rules = [
        json!({ "apiGroups": ["", "batch"], "resources": ["jobs", "pods"], "verbs": ["get", "list"] }),
        json!({ "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["a", "b"], "verbs": ["get"] }),
        json!({ "apiGroups": [""], "resources": ["nodes"], "resourceNames": [], "verbs": ["get"] }),
        json!({ "nonResourceURLs": ["/a", "/b"], "verbs": ["get", "post"] }),
    ];
    let grants = all(&rules);
    assert_eq!(grants.len(), 8 + 2 + 1 + 4);

    for grant in &grants {
        let without: Vec<_> = rules.iter().flat_map(|rule| grant.out_of(rule)).collect();
        let mut expected = grants.clone();
        expected.remove(grant);
        assert_eq!(all(&without), expected, "{grant}");
    }
}

#[test]
fn the_missing_permission_is_the_one_in_the_api_servers_message() {
    let request = |verb: &str, code: u16, reason: &str| AuditedRequest {
        verb: verb.to_owned(),
        group: "batch".to_owned(),
        resource: "jobs".to_owned(),
        namespace: Some("here".to_owned()),
        name: Some("one".to_owned()),
        url: String::new(),
        code,
        message: format!("jobs.batch \"one\" is forbidden: {reason}"),
        user_agent: String::new(),
    };
    let missed = |verb: &str, code: u16, reason: &str| {
        let missing = Grant::missed_by(&request(verb, code, reason));
        missing.map(|grant| grant.to_string())
    };
    let cannot =
        |verb: &str| format!("User \"me\" cannot {verb} resource \"jobs\" in API group \"batch\"");

    let marker = "// +kbr:rbac:groups=batch,resources=jobs,verbs=";
    for (asked, missing) in [("patch", "patch"), ("patch", "create"), ("list", "list")] {
        let expected = format!("{marker}{missing}");
        assert_eq!(missed(asked, 403, &cannot(missing)), Some(expected));
    }
    assert_eq!(missed("create", 403, "exceeded quota"), None);
    assert_eq!(missed("create", 409, &cannot("create")), None);
}

#[test]
fn a_wildcard_covers_what_it_matches() {
    let grant = |resource: &str| Grant::new("batch", resource, "get");

    for (wide, narrow, covers) in [
        ("*", "jobs", true),
        ("*", "jobs/status", true),
        ("*/status", "jobs/status", true),
        ("*/status", "jobs", false),
        ("jobs", "jobs", true),
        ("jobs", "jobs/status", false),
    ] {
        assert_eq!(
            grant(wide).covers(&grant(narrow)),
            covers,
            "{wide} {narrow}"
        );
        assert_eq!(grant(wide).is_wildcard(), wide.starts_with('*'));
    }
    assert!(!grant("*").covers(&Grant::new("", "pods", "get")));

    let named = json!({ "apiGroups": ["batch"], "resources": ["*"], "resourceNames": ["a"], "verbs": ["get"] });
    assert!(Grant::all(&named)[0].covers(&grant("jobs")));
}
