// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The requests made in the manager's name, from the audit log that the API server writes.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::TestEnvError;
use super::folder::Folder;

const LOG: &str = "audit.log";
const POLICY: &str = "audit-policy.json";

/// A request to the API server and its response, from the API server's audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuditedRequest {
    /// The verb, as in a role: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, ….
    pub verb: String,
    /// The API group. Empty for the core group, and for a request that is not about a resource.
    pub group: String,
    /// The resource, as in a role: `jobs` or `jobs/status`. Empty for a request that is not about a
    /// resource, such as `/healthz`.
    pub resource: String,
    /// The namespace. `None` for all namespaces, and for cluster-scoped resources.
    pub namespace: Option<String>,
    /// The name of the object. `None` for a list, a watch, and a generated name.
    pub name: Option<String>,
    /// The path and query of the URL.
    pub url: String,
    /// The HTTP status code of the response, such as 200, 403 or 409.
    pub code: u16,
    /// The API server's message if it refused the request; otherwise empty. If a permission was missing,
    /// it says which, even where the log omits the message, as for requests for metadata only.
    pub message: String,
    pub(super) user_agent: String,
}

impl AuditedRequest {
    /// The field manager of a write: the names of the operator and the controller, with a slash between them, if it
    /// follows the scaffold.
    pub fn field_manager(&self) -> Option<String> {
        let (_, query) = self.url.split_once('?')?;
        field_manager(query)
    }

    /// The name of the controller in the field manager.
    #[cfg(any(test, feature = "manager", feature = "development"))]
    pub(crate) fn controller(&self) -> Option<String> {
        self.field_manager().map(controller_of)
    }

    fn of(event: &Value) -> Self {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let (object, status) = (&event["objectRef"], &event["responseStatus"]);
        let mut resource = text(&object["resource"]).unwrap_or_default();
        if let Some(part) = object["subresource"].as_str() {
            resource = format!("{resource}/{part}");
        }
        let verb = text(&event["verb"]).unwrap_or_default();
        let group = text(&object["apiGroup"]).unwrap_or_default();
        let is_forbidden = event["annotations"]["authorization.k8s.io/decision"] == "forbid";
        let message = text(&status["message"]).unwrap_or_else(|| match is_forbidden {
            true => format!("it cannot {verb} resource \"{resource}\" in API group \"{group}\""),
            false => String::new(),
        });
        Self {
            verb,
            group,
            resource,
            namespace: text(&object["namespace"]),
            name: text(&object["name"]),
            url: text(&event["requestURI"]).unwrap_or_default(),
            code: status["code"]
                .as_u64()
                .map_or(0, |code| code.try_into().unwrap_or(0)),
            message,
            user_agent: text(&event["userAgent"]).unwrap_or_default(),
        }
    }
}

/// The field manager in the query of a URL.
pub(crate) fn field_manager(query: &str) -> Option<String> {
    let mut parameters = query.split('&');
    let manager = parameters.find_map(|parameter| parameter.strip_prefix("fieldManager="));
    manager.map(|manager| manager.replace("%2F", "/"))
}

/// The name of the controller in a field manager.
#[cfg(any(test, feature = "manager", feature = "development"))]
pub(crate) fn controller_of(mut field_manager: String) -> String {
    let start = field_manager.rfind('/').map_or(0, |slash| slash + 1);
    field_manager.split_off(start)
}

/// The audit log of one environment, read a piece at a time.
pub(super) struct AuditLog {
    path: PathBuf,
    /// How many bytes were read so far.
    read: u64,
    /// Requests that were logged when they started, and will be logged again when they end.
    started: HashSet<String>,
}

impl AuditLog {
    /// The log of the environment with this folder, to be read from the first request on.
    pub(super) fn of(folder: &Path) -> Self {
        Self {
            path: folder.join(LOG),
            read: 0,
            started: HashSet::new(),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The requests that were logged since the last time.
    ///
    /// # Errors
    ///
    /// When the log exists but cannot be read.
    pub(super) fn read_on(&mut self) -> io::Result<Vec<AuditedRequest>> {
        let mut bytes = Vec::new();
        match File::open(&self.path) {
            Ok(mut file) => {
                file.seek(SeekFrom::Start(self.read))?;
                file.read_to_end(&mut bytes)?;
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        // The last line may not be complete yet.
        let whole = bytes.iter().rposition(|byte| *byte == b'\n');
        bytes.truncate(whole.map_or(0, |end| end + 1));
        self.read += bytes.len() as u64;
        let text = String::from_utf8_lossy(&bytes);
        let events = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        let events = events.filter(|event| self.is_new(event));
        Ok(events.map(|event| AuditedRequest::of(&event)).collect())
    }

    /// Whether an event is the first of its request.
    fn is_new(&mut self, event: &Value) -> bool {
        let id = event["auditID"].as_str().unwrap_or_default();
        match event["stage"] == "ResponseStarted" {
            true => self.started.insert(id.to_owned()),
            false => !self.started.remove(id),
        }
    }
}

/// The arguments that make the API server log the requests of `user` in `folder`.
///
/// # Errors
///
/// [`TestEnvError::Folder`].
pub(super) fn arguments(user: &str, folder: &Folder) -> Result<Vec<String>, TestEnvError> {
    // The environment itself requests these reviews.
    let reviews = json!({
        "group": "authorization.k8s.io",
        "resources": ["selfsubjectrulesreviews"],
    });
    let policy = json!({
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": [
            { "level": "None", "resources": [reviews] },
            { "level": "Metadata", "users": [user] },
        ],
    });
    let policy = folder.write(POLICY, &format!("{policy:#}\n"))?;
    Ok(vec![
        format!("--audit-policy-file={}", policy.display()),
        format!("--audit-log-path={}", folder.path().join(LOG).display()),
        // A response is logged before it is sent.
        "--audit-log-mode=blocking".to_owned(),
        // In megabytes. Large, because only the first file is read.
        "--audit-log-maxsize=10000".to_owned(),
    ])
}

#[cfg(test)]
mod tests;
