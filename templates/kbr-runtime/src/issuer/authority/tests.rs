// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! What is done about each content of a Secret, at each time.

use super::*;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn rules() -> Rules {
    Rules {
        name: "own-webhook-service.own-system.svc".to_owned(),
        validity: 90 * DAY,
    }
}

fn start() -> Timestamp {
    "2026-03-02T12:00:00Z".parse().unwrap()
}

fn after(days: u32) -> Timestamp {
    start() + DAY * days
}

/// The content of a Secret that did not exist before.
fn first() -> Content {
    let (content, cause) = rules().apply(&Data::new(), None, start()).unwrap();
    assert_eq!(cause, Some(Cause::First));
    content
}

/// What the content of a Secret becomes.
fn next(content: &Content, now: Timestamp) -> (Content, Option<Cause>) {
    rules().apply(&content.data, Some(content), now).unwrap()
}

fn set(data: &mut Data, entry: &str, text: &str) {
    data.insert(entry.to_owned(), ByteString(text.as_bytes().to_vec()));
}

fn reason(cause: Option<Cause>) -> String {
    match cause {
        Some(Cause::Fault(reason)) => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_first_certificate_is_trusted_for_its_name_only() {
    let content = first();
    let trusts = |rules: Rules, now| {
        let trusted = rules.trusts(&content.authorities, &content.certificate, now);
        trusted.is_ok()
    };
    let other = Rules {
        name: "other.own-system.svc".to_owned(),
        ..rules()
    };
    assert!(trusts(rules(), start()));
    // A clock that is two days slow.
    assert!(trusts(rules(), start() - 2 * DAY));
    assert!(trusts(rules(), after(89)));
    assert!(!trusts(rules(), after(91)));
    assert!(!trusts(other, start()));
    assert_eq!(content.expiries(), [Some(after(90)), Some(after(360))]);
    assert_eq!(content.data.len(), 4);
    assert_eq!(next(&content, start()).1, None);
}

#[test]
fn a_certificate_is_renewed_after_two_thirds_of_its_time() {
    let old = first();
    assert_eq!(next(&old, after(60)).1, None);

    let (new, cause) = next(&old, after(61));

    assert_eq!(cause, Some(Cause::Renewal("a new certificate")));
    assert_eq!(new.authorities, old.authorities);
    assert_ne!(new.certificate.cert, old.certificate.cert);
    assert_eq!(new.expiries()[0], Some(after(151)));
}

#[test]
fn at_each_time_every_certificate_that_may_still_be_served_is_trusted() {
    let mut content = first();
    let mut served: Vec<Arc<CertifiedKey>> = vec![content.certificate.clone()];
    let mut authorities = 1;
    // Ten years.
    for day in 0..3650 {
        let now = after(day);
        let (new, cause) = next(&content, now);
        match cause {
            None => {}
            Some(Cause::Renewal("a new CA")) => {
                authorities += 1;
                assert_ne!(new.authorities[0], content.authorities[0]);
                served.push(new.certificate.clone());
            }
            Some(Cause::Renewal(_)) => served.push(new.certificate.clone()),
            Some(other) => panic!("{other:?}"),
        }
        content = new;
        // Another replica may not have learnt of the latest certificate.
        served.retain(|it| validity::end(it.cert.first()).is_some_and(|end| end > now));
        for certificate in &served {
            rules()
                .trusts(&content.authorities, certificate, now)
                .unwrap();
        }
        assert!(content.authorities.len() <= 3, "{day}");
        let [certificate, authority] = content.expiries().map(Option::unwrap);
        assert!(left(authority, certificate) >= 60 * DAY, "{day}");
        assert!(left(certificate, now) >= 29 * DAY, "{day}");
    }
    assert_eq!(authorities, 21);
}

#[test]
fn what_is_unusable_is_replaced_and_says_why() {
    let (good, other) = (first(), first());
    let not_a_ca = rcgen::generate_simple_self_signed(["a".to_owned()]).unwrap();
    let text =
        |content: &Content, entry: &str| String::from_utf8(content.data[entry].0.clone()).unwrap();
    for (entry, value, expected, keeps_the_ca) in [
        ("ca.crt", "", "`ca.crt` contains no certificate", false),
        (
            "ca.crt",
            "no PEM",
            "`ca.crt` contains no certificate",
            false,
        ),
        (
            "ca.crt",
            "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n",
            "`ca.crt`: ",
            false,
        ),
        (
            "ca.crt",
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            "`ca.crt` does not begin with the certificate of a CA",
            false,
        ),
        (
            "ca.crt",
            &not_a_ca.cert.pem(),
            "`ca.crt` does not begin with the certificate of a CA",
            false,
        ),
        (
            "ca.crt",
            &text(&other, "ca.crt"),
            "`ca.crt` does not fit the key in `ca.key`",
            false,
        ),
        ("ca.key", "no PEM", "`ca.key`: ", false),
        (
            "ca.key",
            &text(&other, "ca.key"),
            "`ca.crt` does not fit the key in `ca.key`",
            false,
        ),
        ("tls.crt", "", "`tls.crt` contains no certificate", true),
        (
            "tls.crt",
            &text(&other, "tls.crt"),
            "`tls.crt` with `tls.key`: ",
            true,
        ),
        ("tls.key", "no PEM", "`tls.key`: ", true),
        (
            "tls.key",
            &text(&other, "tls.key"),
            "`tls.crt` with `tls.key`: ",
            true,
        ),
    ] {
        let mut data = good.data.clone();
        set(&mut data, entry, value);

        let (new, cause) = rules().apply(&data, Some(&good), start()).unwrap();

        let reason = reason(cause);
        assert!(reason.starts_with(expected), "{reason}");
        assert_eq!(next(&new, start()).1, None, "{reason}");
        let is_kept = new.authorities == good.authorities;
        assert_eq!(is_kept, keeps_the_ca, "{reason}");
        // Others still serve this one.
        let trusted = rules().trusts(&new.authorities, &good.certificate, start());
        trusted.unwrap();
    }
}

#[test]
fn a_certificate_of_another_ca_or_for_another_name_is_replaced() {
    let (good, other) = (first(), first());
    let mut data = good.data.clone();
    for entry in ["tls.crt", "tls.key"] {
        data.insert(entry.to_owned(), other.data[entry].clone());
    }
    let (_, cause) = rules().apply(&data, Some(&good), start()).unwrap();
    let text = reason(cause);
    assert!(
        text.starts_with("`tls.crt`: invalid peer certificate"),
        "{text}"
    );

    let renamed = Rules {
        name: "renamed-webhook-service.own-system.svc".to_owned(),
        ..rules()
    };
    let (new, cause) = renamed.apply(&good.data, Some(&good), start()).unwrap();
    assert!(
        reason(cause).contains("not valid for name"),
        "of the Service"
    );
    assert_eq!(new.authorities, good.authorities);
}

#[test]
fn a_missing_entry_is_named() {
    let good = first();
    for entry in ["ca.crt", "ca.key", "tls.crt", "tls.key"] {
        let mut data = good.data.clone();
        data.remove(entry);
        let (_, cause) = rules().apply(&data, None, start()).unwrap();
        assert_eq!(reason(cause), format!("`{entry}` is missing"));
    }
}

#[test]
fn a_deleted_secret_gets_another_ca_beside_the_old_one() {
    let old = first();

    let (new, cause) = rules().apply(&Data::new(), Some(&old), start()).unwrap();

    assert_eq!(reason(cause), "`ca.crt` is missing");
    assert_eq!(new.authorities[1..], old.authorities);

    // However often.
    let mut content = new;
    for _ in 0..10 {
        let made = rules().apply(&Data::new(), Some(&content), start());
        content = made.unwrap().0;
        assert!(content.authorities.len() <= KEPT);
        assert_eq!(next(&content, start()).1, None);
    }
}

#[test]
fn a_ca_that_somebody_else_wrote_does_not_replace_the_one_that_is_in_use() {
    let (mine, theirs) = (first(), first());

    let (both, cause) = rules().apply(&theirs.data, Some(&mine), start()).unwrap();

    assert_eq!(reason(cause), "`ca.crt` lacks the CA of what is served");
    let expected = [&theirs.authorities[0], &mine.authorities[0]];
    assert!(both.authorities.iter().eq(expected));
    assert_eq!(next(&both, start()).1, None);
    // For the one who wrote the other.
    assert_eq!(
        rules().apply(&both.data, Some(&theirs), start()).unwrap().1,
        None
    );
}

#[test]
fn what_has_expired_is_replaced() {
    let old = first();

    let (new, cause) = rules().apply(&old.data, None, after(100)).unwrap();
    assert!(reason(cause).contains("expired"), "the certificate");
    assert_eq!(new.authorities, old.authorities);

    let (new, cause) = rules().apply(&old.data, Some(&old), after(361)).unwrap();
    let expected = "`ca.crt` has expired on 2027-02-25T12:00:00Z";
    assert_eq!(reason(cause), expected);
    assert_eq!(new.authorities.len(), 1);

    // Made by somebody whose clock is weeks fast.
    let (_, cause) = rules().apply(&old.data, None, start() - 8 * DAY).unwrap();
    let expected = "`ca.crt` is not valid before 2026-02-23T12:00:00Z";
    assert_eq!(reason(cause), expected);
}

#[test]
fn other_entries_stay() {
    let mut data = Data::new();
    set(&mut data, "note", "ours");
    let (content, _) = rules().apply(&data, None, start()).unwrap();
    assert_eq!(content.data["note"], data["note"]);
}

#[test]
fn the_times_of_a_certificate_are_read() {
    for (year, days) in [(2026, 90), (2049, 360), (2051, 90)] {
        let now: Timestamp = format!("{year}-12-31T23:59:58Z").parse().unwrap();
        let mut params = CertificateParams::default();
        set_validity(&mut params, now, DAY * days);
        let key = KeyPair::generate().unwrap();
        let made = params.self_signed(&key).unwrap();
        let expected = [now - EARLIER, now + DAY * days];
        assert_eq!(validity(made.der()), Some(expected));
        for length in 0..150 {
            assert_eq!(validity(&made.der()[..length]), None);
        }
    }
    assert_eq!(validity(b""), None);
    assert_eq!(validity(&[0x30, 0x84, 0xff, 0xff, 0xff, 0xff, 0]), None);
}
