//! CRDs that are too large for the tools that install them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::{Compress, Compression, FlushCompress};
use serde_json::{Value, json};

/// Maximum size of an object's annotations, in bytes. `kubectl apply` keeps the applied object in one.
///
/// Source: `TotalAnnotationSizeLimitB` in apimachinery's `api/validation/objectmeta.go`.
const ANNOTATIONS: usize = 256 << 10;

/// Maximum size of a Secret, in bytes. Helm keeps each release in one.
///
/// Source: `MaxSecretSize` in Kubernetes' `core/v1/types.go`.
pub(crate) const SECRET: usize = 1 << 20;

/// The warning if a CRD of that name is too large for `kubectl apply`.
pub(crate) fn too_large_to_apply(name: &str, crd: &Value) -> Option<String> {
    let size = crd.to_string().len();
    (size > ANNOTATIONS).then(|| {
        format!(
            "`{name}` has {size} bytes as JSON, and a `kubectl apply` without `--server-side` refuses \
             more than {ANNOTATIONS}: type `kbr manifests --max-desc-len 0`, or omit a version"
        )
    })
}

/// The warning if all CRD files, given by name, are too large for one Helm chart.
pub(crate) fn too_large_for_helm(files: &[(String, String)]) -> Option<String> {
    let size = release(files);
    (size > SECRET).then(|| {
        format!(
            "a Helm release with these CRDs takes {size} bytes, and Helm keeps it in a Secret of at \
             most {SECRET}: type `kbr manifests --max-desc-len 0`, or make several charts of only CRDs, \
             each with some of the kinds"
        )
    })
}

/// The size of a release with these templates, given by path in the chart, and nothing else, in bytes.
///
/// Helm keeps the templates both as written and as rendered, as JSON, compressed, in base64.
/// Source: `encodeRelease` in Helm's `pkg/storage/driver/util.go`, and the fields of its `Release`.
pub(crate) fn release(files: &[(String, String)]) -> usize {
    let template = |(name, text): &(String, String)| {
        let data = STANDARD.encode(text);
        json!({ "name": name, "data": data })
    };
    let templates: Vec<Value> = files.iter().map(template).collect();
    let manifest: Vec<&str> = files.iter().map(|(_, text)| text.as_str()).collect();
    let release =
        json!({ "chart": { "templates": templates }, "manifest": manifest.join("---\n") });
    compressed(&release.to_string()).div_ceil(3) * 4
}

/// Maximum size of a bundle in a ConfigMap, in bytes. OLM unpacks each bundle into one.
///
/// Source: `max_bundle_size` in `pkg/validation/internal/bundle.go` of operator-framework/api.
pub(crate) const CONFIG_MAP: usize = 1 << 20;

/// The size of these texts in such a ConfigMap, in bytes: each compressed, in base64.
pub(crate) fn compressed_files<'a>(files: impl Iterator<Item = &'a String>) -> usize {
    files.map(|text| compressed(text).div_ceil(3) * 4).sum()
}

fn compressed(text: &str) -> usize {
    /// Bytes around the compressed data.
    const GZIP: usize = 18;
    let mut bytes = Vec::with_capacity(text.len() + 1024);
    let mut deflate = Compress::new(Compression::best(), false);
    // It stops early if the buffer is full, which is not the case here.
    let _ = deflate.compress_vec(text.as_bytes(), &mut bytes, FlushCompress::Finish);
    bytes.len() + GZIP
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Text of that many bytes that hardly compresses.
    fn noise(bytes: usize) -> String {
        let mut state = 1_u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            STANDARD.encode(state.to_be_bytes())
        };
        let mut text = String::new();
        while text.len() < bytes {
            text += &next()[..8];
        }
        text.truncate(bytes);
        text
    }

    #[test]
    fn the_limit_of_an_annotation_is_exact() {
        let empty = json!({ "text": "" }).to_string().len();
        let crd = |size: usize| json!({ "text": "x".repeat(size - empty) });
        assert_eq!(too_large_to_apply("foos", &crd(262_144)), None);
        let warning = too_large_to_apply("foos", &crd(262_145)).expect("a warning");
        assert!(warning.starts_with("`foos` has 262145 bytes"), "{warning}");
    }

    #[test]
    fn a_release_has_each_template_twice_and_compressed() {
        let file = |size| vec![("a.yaml".to_owned(), noise(size))];
        // Six bits in each character; once as text and once more in base64.
        let size = release(&file(300_000));
        assert!((500_000..700_000).contains(&size), "{size}");
        assert_eq!(too_large_for_helm(&file(300_000)), None);
        let warning = too_large_for_helm(&file(600_000)).expect("a warning");
        assert!(warning.starts_with("a Helm release"), "{warning}");
        let repetitive = vec![("a.yaml".to_owned(), "x".repeat(2_000_000))];
        assert_eq!(too_large_for_helm(&repetitive), None);
    }
}
