//! The name that was probably meant by one that breaks its rule.
//!
//! Each function returns a guess, which need not be valid: a message shows it only if the rule accepts it.

use regex_lite::Captures;

use super::rules::{compiled, split_image};

/// Replaces each match of a pattern.
fn replaced(pattern: &'static str, text: &str, with: impl Fn(&Captures<'_>) -> String) -> String {
    match compiled(pattern) {
        Some(regex) => regex.replace_all(text, with).into_owned(),
        None => text.to_owned(),
    }
}

/// `cron-job` and `cron_job` become `CronJob`, and so does `cronJob`.
pub(super) fn kind(text: &str) -> String {
    replaced("(^|[-_. ]+)([A-Za-z0-9])", text.trim(), |found| {
        found[2].to_ascii_uppercase()
    })
}

/// `1`, `V1` and `v1.0` become `v1`, `v1beta` becomes `v1beta1`, and `v1-beta-1` as well.
pub(super) fn version(text: &str) -> String {
    let lower = text
        .trim()
        .to_ascii_lowercase()
        .replace(['-', '_', ' '], "");
    let number = lower.trim_start_matches('v');
    let number = number.strip_suffix(".0").unwrap_or(number);
    if number.ends_with("alpha") || number.ends_with("beta") {
        format!("v{number}1")
    } else {
        format!("v{number}")
    }
}

/// `My_Operator` becomes `my-operator`.
pub(super) fn label(text: &str) -> String {
    let lower = text.trim().to_ascii_lowercase();
    let label = replaced("[_. ]+", &lower, |_| "-".to_owned());
    label.trim_matches('-').to_owned()
}

/// `Crew-Sea` becomes `crew_sea`.
pub(super) fn group_module(text: &str) -> String {
    label(text).replace('-', "_")
}

/// `CronJobs` becomes `cronjobs`, and `cron_jobs` as well: resource names rarely have a `-`.
pub(super) fn plural(text: &str) -> String {
    label(text).replace('-', "")
}

/// `https://Example.com/` becomes `example.com`, and `my_org.io` becomes `my-org.io`.
pub(super) fn subdomain(text: &str) -> String {
    let lower = text.trim().to_ascii_lowercase();
    let host = lower.split_once("://").map_or(&*lower, |(_, host)| host);
    let host = host.trim_end_matches(['/', '.']);
    replaced("[_ ]+", host, |_| "-".to_owned())
}

/// `Mutate_CronJobs` becomes `/mutate-cronjobs`.
pub(super) fn webhook_path(text: &str) -> String {
    format!("/{}", subdomain(text).trim_start_matches('/'))
}

/// `v1.2` becomes `1.2.0`, without build metadata.
pub(super) fn semantic_version(text: &str) -> String {
    let lower = text.trim().to_ascii_lowercase();
    let version = lower.trim_start_matches('v');
    let version = version.split('+').next().unwrap_or_default();
    let end = version.find('-').unwrap_or(version.len());
    let (number, pre) = version.split_at(end);
    let missing = 2_usize.saturating_sub(number.matches('.').count());
    format!("{number}{}{pre}", ".0".repeat(missing))
}

/// `docker://Memcached:1.6` becomes `memcached:1.6`.
pub(super) fn image(text: &str) -> String {
    let text = text.trim();
    let text = text.split_once("://").map_or(text, |(_, image)| image);
    let (name, _) = split_image(text);
    format!("{}{}", name.to_ascii_lowercase(), &text[name.len()..])
}

/// `cert_manager.v1.Certificate` becomes `cert_manager::v1::Certificate`.
pub(super) fn type_path(text: &str) -> String {
    let path = replaced("[.:/]+", text.trim(), |_| "::".to_owned());
    path.trim_start_matches("::").replace('-', "_")
}

/// `cert-manager 1.2` and `cert-manager=1.2` become `cert-manager@1.2`.
pub(super) fn crate_spec(text: &str) -> String {
    let text = text.trim();
    if text.contains('@') {
        text.to_owned()
    } else {
        replaced("^([A-Za-z0-9_-]+)[ =:]+\"?([^\"]*)\"?$", text, |found| {
            format!("{}@{}", &found[1], &found[2])
        })
    }
}

/// A line of text without spaces around it.
pub(super) fn trimmed(text: &str) -> String {
    text.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use super::super::*;

    /// Each word is refused with the advice to type another one, which is accepted, or without advice.
    fn each<T: FromStr<Err = NameError>>(words: &[(&str, &str)]) {
        each_as::<T>(words, |word| word.parse());
    }

    fn each_as<T>(words: &[(&str, &str)], parse: fn(&str) -> Result<T, NameError>) {
        for (word, meant) in words {
            let Err(refused) = parse(word) else {
                panic!("{word} is accepted");
            };
            let advice = format!("type `{meant}`");
            if meant.is_empty() {
                let is_advice = refused.remedy.starts_with("type `");
                let is_one_word = refused.remedy.matches('`').count() == 2;
                assert!(!(is_advice && is_one_word), "{word}: {refused}");
                continue;
            }
            assert!(
                refused.remedy.contains(&format!("`{meant}`")),
                "{word}: {refused}"
            );
            assert!(refused.remedy.contains(&advice), "{refused}");
            assert!(parse(meant).is_ok(), "{meant} is refused");
        }
    }

    const KINDS: [(&str, &str); 8] = [
        ("captain", "Captain"),
        ("cronJob", "CronJob"),
        ("cron-job", "CronJob"),
        ("Cron_Job", "CronJob"),
        ("Result", ""),
        ("result", ""),
        ("2Foo", ""),
        ("../Foo", ""),
    ];

    const VERSIONS: [(&str, &str); 8] = [
        ("1", "v1"),
        ("V1", "v1"),
        ("v1.0", "v1"),
        ("v1Beta1", "v1beta1"),
        ("v1alpha", "v1alpha1"),
        ("v1-beta-2", "v1beta2"),
        ("v1.2", ""),
        ("latest", ""),
    ];

    #[test]
    fn a_refusal_contains_the_word_that_was_meant() {
        each_as(&KINDS, |word| Kind::typed(word, &[]));
        each_as(&VERSIONS, |word| Version::typed(word, &[]));
        each::<Group>(&[("Batch", "batch"), ("my_group", "my-group"), ("a/b", "")]);
        each::<Domain>(&[
            ("Example.com", "example.com"),
            ("https://example.com/", "example.com"),
            ("my_org.io", "my-org.io"),
            ("../x", ""),
        ]);
        each::<ProjectName>(&[
            ("My-Operator", "my-operator"),
            ("my_operator", "my-operator"),
            ("a.b", "a-b"),
            ("Tokio", ""),
            ("1st", ""),
        ]);
        each::<Plural>(&[
            ("CronJobs", "cronjobs"),
            ("cron_jobs", "cronjobs"),
            ("2s", ""),
        ]);
        each::<ControllerName>(&[("Captain_Backup", "captain-backup"), ("2", "")]);
        each::<WebhookPath>(&[
            ("mutate-it", "/mutate-it"),
            ("/Mutate_it", "/mutate-it"),
            ("convert", ""),
        ]);
    }

    #[test]
    fn a_refusal_of_free_text_contains_what_was_meant() {
        each::<Repo>(&[(" https://github.com/a/b ", "https://github.com/a/b")]);
        each::<Owner>(&[(" The authors ", "The authors"), ("a\nb", "")]);
        each::<BundleVersion>(&[
            ("v1.2.3", "1.2.3"),
            ("1.2", "1.2.0"),
            ("1.2.3-RC.1", "1.2.3-rc.1"),
            ("1.2.3+5", "1.2.3"),
            ("next", ""),
        ]);
        each::<ImageRef>(&[
            ("docker://memcached:1", "memcached:1"),
            ("Memcached:1.6", "memcached:1.6"),
            ("a b", ""),
        ]);
        each::<TypePath>(&[
            (
                "cert_manager.v1.Certificate",
                "cert_manager::v1::Certificate",
            ),
            ("cert-manager::Certificate", "cert_manager::Certificate"),
            ("Certificate", ""),
        ]);
        each::<CrateSpec>(&[
            ("cert-manager 1.2", "cert-manager@1.2"),
            ("cert-manager = \"1.2\"", "cert-manager@1.2"),
            ("../a", ""),
        ]);
    }
}
