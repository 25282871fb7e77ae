// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Native histograms in addition to the classic ones, for scrapers that request Prometheus' protobuf
//! format: the text format cannot express them.

use std::time::Duration;

use http::HeaderMap;
use http::header::ACCEPT;
use prometheus_client::metrics::histogram::{Histogram, NativeHistogramConfig};

/// The content type, as Prometheus requests it and receives it.
pub(crate) const PROTOBUF: &str =
    "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited";

/// A histogram with the classic `buckets`, and with native buckets like those of controller-runtime
/// 0.24: each at most a tenth wider than the previous one, at most a hundred, and reset after an hour
/// if there were too many.
pub(super) fn histogram(buckets: &[f64]) -> Histogram {
    let native = NativeHistogramConfig::with_bucket_factor(1.1)
        .max_buckets(100)
        .min_reset_duration(Duration::from_secs(3600));
    Histogram::new_classic_and_native(buckets.iter().copied(), native)
}

/// Whether a scraper that sends `headers` prefers protobuf to text. A scraper without a preference gets
/// text.
pub(crate) fn wants_protobuf(headers: &HeaderMap) -> bool {
    let values = headers.get_all(ACCEPT).iter();
    let formats = values.filter_map(|value| value.to_str().ok());
    let (mut protobuf, mut text) = (0.0, 0.0);
    for format in formats.flat_map(|value| value.split(',')) {
        let mut parts = format.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let parts: Vec<_> = parts.filter_map(|part| part.split_once('=')).collect();
        let part = |key: &str| {
            let part = parts
                .iter()
                .find(|(name, _)| name.eq_ignore_ascii_case(key));
            part.map(|(_, value)| value.trim_matches('"'))
        };
        let quality: f64 = part("q")
            .map_or(Some(1.0), |q| q.parse().ok())
            .unwrap_or_default();
        match name {
            "application/vnd.google.protobuf"
                if part("proto") == Some("io.prometheus.client.MetricFamily")
                    && part("encoding") == Some("delimited") =>
            {
                protobuf = quality.max(protobuf);
            }
            "application/openmetrics-text" | "text/plain" => text = quality.max(text),
            _ => {}
        }
    }
    protobuf > 0.0 && protobuf >= text
}

#[cfg(test)]
mod tests;
