// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Certificates on disk, mounted as the kubelet mounts a Secret.

use super::*;
use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A self-signed certificate for this machine.
pub(crate) struct Pair {
    pub(crate) der: CertificateDer<'static>,
    certificate: String,
    key: String,
}

impl Pair {
    pub(crate) fn new() -> Self {
        let names = ["127.0.0.1".to_owned()];
        let made = rcgen::generate_simple_self_signed(names).unwrap();
        Self {
            der: made.cert.der().clone(),
            certificate: made.cert.pem(),
            key: made.signing_key.serialize_pem(),
        }
    }

    pub(crate) fn pem(&self) -> &str {
        &self.certificate
    }

    pub(crate) fn private(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::from_pem_slice(self.key.as_bytes()).unwrap()
    }
}

/// A mounted Secret: links to files in the folder to which the link `..data` points.
pub(crate) struct Mount {
    pub(crate) folder: PathBuf,
    swaps: usize,
}

impl Mount {
    pub(crate) fn new() -> Self {
        static MOUNTS: AtomicUsize = AtomicUsize::new(0);
        let number = MOUNTS.fetch_add(1, Ordering::Relaxed);
        let name = format!("webhook-certificate-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir(&folder).unwrap();
        for file in ["tls.crt", "tls.key"] {
            symlink(Path::new("..data").join(file), folder.join(file)).unwrap();
        }
        Self { folder, swaps: 0 }
    }

    pub(crate) fn swap(&mut self, pair: &Pair) {
        self.swap_files(&pair.certificate, &pair.key);
    }

    pub(crate) fn swap_files(&mut self, certificate: &str, key: &str) {
        self.swaps += 1;
        let target = format!("..{}", self.swaps);
        let target_folder = self.folder.join(&target);
        fs::create_dir(&target_folder).unwrap();
        fs::write(target_folder.join("tls.crt"), certificate).unwrap();
        fs::write(target_folder.join("tls.key"), key).unwrap();
        symlink(&target, self.folder.join("..data_tmp")).unwrap();
        fs::rename(self.folder.join("..data_tmp"), self.folder.join("..data")).unwrap();
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn files(mount: &Mount) -> Files {
    Files::new(
        "webhooks",
        &mount.folder,
        ("tls.crt", "tls.key"),
        CertificateReads::default(),
    )
}

/// The certificate in use.
fn current(files: &Files) -> Result<CertificateDer<'static>, String> {
    let current = files.current.0.lock().unwrap();
    current
        .as_ref()
        .map(|key| key.cert[0].clone())
        .map_err(Clone::clone)
}

#[test]
fn a_missing_file_is_named() {
    let mount = Mount::new();

    let reason = files(&mount).certificate().missing().unwrap();

    let file = mount.folder.join("tls.crt");
    let expected = format!("{}: No such file", file.display());
    assert!(reason.starts_with(&expected), "{reason}");
}

#[test]
fn a_certificate_may_appear_late_and_change() {
    let mut mount = Mount::new();
    let mut files = files(&mount);
    for _ in 0..3 {
        let pair = Pair::new();
        mount.swap(&pair);
        files.reload();
        assert_eq!(current(&files), Ok(pair.der));
    }
    assert_eq!(files.certificate().missing(), None);
}

#[test]
fn an_unusable_certificate_keeps_the_old_one() {
    let (mut mount, good, other) = (Mount::new(), Pair::new(), Pair::new());
    mount.swap(&good);
    let mut files = files(&mount);
    for (certificate, key) in [
        (other.certificate.as_str(), good.key.as_str()),
        ("", good.key.as_str()),
        (good.certificate.as_str(), "garbage"),
        (
            "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n",
            &good.key,
        ),
    ] {
        mount.swap_files(certificate, key);
        files.reload();
        assert_eq!(current(&files), Ok(good.der.clone()), "{certificate}");
    }
    fs::remove_file(mount.folder.join("..data")).unwrap();
    files.reload();
    assert_eq!(current(&files), Ok(good.der));

    mount.swap(&other);
    files.reload();
    assert_eq!(current(&files), Ok(other.der));
}

#[test]
fn an_unusable_certificate_is_logged_once() {
    let mut mount = Mount::new();
    mount.swap(&Pair::new());
    let mut files = files(&mount);
    mount.swap_files("garbage", "garbage");

    let lines = crate::logging::tests::logged("info".into(), || {
        files.reload();
        files.reload();
    });

    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(lines[0]["message"], "webhooks keep their old certificate");
}
