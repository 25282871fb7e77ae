//! Compares the paths of webhook markers with the code that serves them. Pure.

use crate::manifests::code_marker::{CodeMarker, MarkerKind};
use crate::names::objects::WEBHOOK_SERVICE;
use crate::rust::Code;

/// Warnings about webhooks whose path is nowhere in the code of the operator: the API server would call them, and get no
/// answer.
pub(crate) fn unserved(markers: &[CodeMarker], sources: &[&str]) -> Vec<String> {
    let own = markers.iter().filter(|it| it.kind == MarkerKind::Webhook);
    let paths = own.filter_map(|marker| Some((marker, path(marker)?)));
    let codes: Vec<Code<'_>> = sources.iter().map(|text| Code::read(text)).collect();
    let unserved =
        paths.filter(|(_, path)| !codes.iter().any(|code| is_served(path, code, &codes)));
    unserved
        .map(|(marker, path)| {
            format!(
                "{}: no code serves `{path}`: the API server gets no answer from this webhook; register it with \
                 `manager.webhooks()`, or remove the marker",
                marker.location
            )
        })
        .collect()
}

/// The path at which the API server calls the operator itself.
fn path(marker: &CodeMarker) -> Option<&str> {
    let only = |name: &str| marker.texts(name).and_then(<[String]>::first);
    let is_other =
        only("url").is_some() || only("serviceName").is_some_and(|it| it != WEBHOOK_SERVICE);
    let constant = marker.constant.as_ref().map(|it| &it.text);
    let path = only("path").or(constant).filter(|_| !is_other)?;
    Some(path.as_str())
}

/// Whether a file has the path in its code, or a constant with it that is used somewhere.
fn is_served(path: &str, code: &Code<'_>, all: &[Code<'_>]) -> bool {
    let tests = code.test_code();
    let is_here = |at: &usize| code.string(*at).is_some_and(|text| text.text == path);
    let is_for_tests = |at: &usize| tests.iter().any(|part| part.contains(&code.start(*at)));
    let mut places = (0..code.len()).filter(|at| is_here(at) && !is_for_tests(at));
    places.any(|at| match constant(code, at) {
        None => true,
        Some(name) => all
            .iter()
            .any(|other| uses(other, code.word(name), std::ptr::eq(other, code))),
    })
}

/// The name of the constant whose value is at `at`.
fn constant(code: &Code<'_>, at: usize) -> Option<usize> {
    let mut before = (0..at)
        .rev()
        .take_while(|&at| !matches!(code.word(at), ";" | "{" | "}" | "("));
    let keyword = before.find(|&at| matches!(code.word(at), "const" | "static"))?;
    (code.back(at, 1) == "=").then_some(keyword + 1)
}

/// Whether code uses that constant: of another file, by its path or an import.
fn uses(code: &Code<'_>, name: &str, is_own: bool) -> bool {
    (0..code.len()).any(|at| {
        code.word(at) == name
            && match code.back(at, 1) {
                "const" | "static" => false,
                ":" | "{" | "," => true,
                _ => is_own,
            }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifests::code_marker;

    #[test]
    fn a_path_that_no_code_serves_is_reported() {
        let marker = |arguments: &str| {
            format!(
                "// +kbr:webhook:mutating=false,groups=core,resources=pods,verbs=create,versions=v1,name=a.b.c{arguments}\n"
            )
        };
        let constant = "const PATH: &str = \"/a\";\n";
        let used = "fn f(m: &mut Manager) { m.webhooks().validate(PATH, It); }\n";
        let (plain, typed) = (marker(""), marker(",path=/a"));
        let own = plain.clone() + constant;
        let test = "#[cfg(test)] mod tests { const P: &str = \"/a\"; fn f() { g(\"/a\"); } }\n";
        for (files, is_served) in [
            (vec![own.clone() + used], true),
            (vec![own.clone() + "fn f() { helper(\"x\", PATH) }"], true),
            (
                vec![own.clone(), "fn f() { m.validate(a::PATH, It) }".to_owned()],
                true,
            ),
            (vec![own.clone(), "use a::{PATH, It};".to_owned()], true),
            (vec![typed.clone(), format!("{constant}{used}")], true),
            (
                vec![typed.clone(), "fn f() { m.mutate(\"/a\", It) }".to_owned()],
                true,
            ),
            (vec![marker(",url=\"https://example.com/a\"")], true),
            (vec![marker(",path=/a,serviceName=other")], true),
            (vec![own.clone()], false),
            (
                vec![
                    own.clone(),
                    "const PATH: &str = \"/b\"; fn f() { m.validate(PATH, It) }".to_owned(),
                ],
                false,
            ),
            (vec![typed.clone()], false),
            (vec![typed.clone() + test], false),
            (
                vec![typed.clone() + "// \"/a\"\nfn f() { m.validate(\"/b\", It) }"],
                false,
            ),
        ] {
            let (markers, errors) = code_marker::read("src/a.rs", &files[0]);
            assert_eq!(errors, []);
            let texts: Vec<&str> = files.iter().map(String::as_str).collect();
            assert_eq!(
                unserved(&markers, &texts).is_empty(),
                is_served,
                "{files:?}"
            );
        }
    }
}
