// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! When a certificate expires. The libraries that make and verify certificates do not say it.

use k8s_openapi::jiff::Timestamp;
use k8s_openapi::jiff::civil::DateTime;
use k8s_openapi::jiff::tz::TimeZone;
use rustls::pki_types::CertificateDer;

// Tags of DER (X.690).
const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// From when until when a certificate in DER is valid; `None` if it is no certificate.
///
/// The fields are those of RFC 5280, section 4.1.
pub(crate) fn validity(certificate: &[u8]) -> Option<[Timestamp; 2]> {
    let mut fields = open(&mut &*certificate, SEQUENCE)?;
    let mut fields = open(&mut fields, SEQUENCE)?;
    if fields.first() == Some(&VERSION) {
        next(&mut fields)?;
    }
    let (_serial, _signature, _issuer) =
        (next(&mut fields)?, next(&mut fields)?, next(&mut fields)?);
    let mut times = open(&mut fields, SEQUENCE)?;
    Some([time(&mut times)?, time(&mut times)?])
}

/// When a certificate expires, if it is one.
pub(crate) fn end(certificate: Option<&CertificateDer<'_>>) -> Option<Timestamp> {
    validity(certificate?).map(|[_, end]| end)
}

/// The content of the next value, which must have that tag.
fn open<'a>(input: &mut &'a [u8], tag: u8) -> Option<&'a [u8]> {
    let (found, content) = next(input)?;
    (found == tag).then_some(content)
}

/// The tag and the content of the next value of `input`, which continues after it.
fn next<'a>(input: &mut &'a [u8]) -> Option<(u8, &'a [u8])> {
    let (&[tag, first], mut rest) = input.split_first_chunk()?;
    let length = if first < 0x80 {
        usize::from(first)
    } else {
        let count = usize::from(first & 0x7f);
        // Certificates have at most some kilobytes.
        let (bytes, after) = rest.split_at_checked(count).filter(|_| count <= 4)?;
        rest = after;
        bytes
            .iter()
            .fold(0, |length, byte| length << 8 | usize::from(*byte))
    };
    let (content, after) = rest.split_at_checked(length)?;
    *input = after;
    Some((tag, content))
}

fn time(input: &mut &[u8]) -> Option<Timestamp> {
    let (tag, text) = next(input)?;
    let text = std::str::from_utf8(text).ok()?;
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<i16>().ok();
    let (year, rest) = match tag {
        // RFC 5280, section 4.1.2.5.1.
        UTC_TIME => match number(0, 2)? {
            year @ ..50 => (2000 + year, 2),
            year => (1900 + year, 2),
        },
        GENERALIZED_TIME => (number(0, 4)?, 4),
        _ => return None,
    };
    let part = |at: usize| {
        let from = rest + 2 * at;
        i8::try_from(number(from, from + 2)?).ok()
    };
    let (month, day) = (part(0)?, part(1)?);
    let (hour, minute, second) = (part(2)?, part(3)?, part(4)?);
    let time = DateTime::new(year, month, day, hour, minute, second, 0).ok()?;
    Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp())
}
