//! What the probe tells a server about itself, and its answers to whatever a server asks.

use serde_json::{Value, json};

use crate::server::subject::{Subject, uri_of};
use crate::server::text::Encoding;

/// How the probe introduces itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Profile {
    /// Position encodings offered, in order of preference; none leaves the member out.
    pub(crate) encodings: Vec<Encoding>,
    /// Whether pull diagnostics are announced.
    pub(crate) pull: bool,
}

impl Default for Profile {
    fn default() -> Self {
        Self { encodings: vec![Encoding::Utf16], pull: true }
    }
}

/// The parameters of `initialize`.
pub(crate) fn initialize_params(subject: &Subject, profile: &Profile) -> Value {
    let root = uri_of(&subject.root);
    let mut text_document = json!({
        "synchronization": {"dynamicRegistration": true, "didSave": true},
        "publishDiagnostics": {
            "relatedInformation": true, "versionSupport": true, "codeDescriptionSupport": true,
            "dataSupport": true, "tagSupport": {"valueSet": [1, 2]},
        },
    });
    let mut workspace = json!({
        "applyEdit": false, "configuration": true, "workspaceFolders": true,
        "didChangeConfiguration": {"dynamicRegistration": true},
        "didChangeWatchedFiles": {"dynamicRegistration": true},
    });
    if profile.pull {
        text_document["diagnostic"] = json!({"dynamicRegistration": true, "relatedDocumentSupport": false});
        workspace["diagnostics"] = json!({"refreshSupport": true});
    }
    let mut general = json!({});
    if !profile.encodings.is_empty() {
        let names: Vec<_> = profile.encodings.iter().map(|encoding| encoding.name()).collect();
        general["positionEncodings"] = json!(names);
    }
    json!({
        "processId": std::process::id(),
        "clientInfo": {"name": "lsp-assay", "version": env!("CARGO_PKG_VERSION")},
        "locale": "en",
        "rootUri": root,
        "workspaceFolders": [{"uri": root, "name": "assay"}],
        "capabilities": {
            "textDocument": text_document,
            "workspace": workspace,
            "window": {"workDoneProgress": true},
            "general": general,
        },
    })
}

/// The answer to a server's request; `None` is method not found.
pub(crate) fn answer(subject: &Subject, method: &str, params: &Value) -> Option<Value> {
    match method {
        "workspace/configuration" => Some(configuration(&subject.settings, params)),
        "workspace/workspaceFolders" => Some(json!([{"uri": uri_of(&subject.root), "name": "assay"}])),
        "workspace/applyEdit" => Some(json!({"applied": false, "failureReason": "nothing is edited here"})),
        "window/showDocument" => Some(json!({"success": false})),
        "client/registerCapability"
        | "client/unregisterCapability"
        | "window/workDoneProgress/create"
        | "window/showMessageRequest" => Some(Value::Null),
        refresh if refresh.starts_with("workspace/") && refresh.ends_with("/refresh") => Some(Value::Null),
        _ => None,
    }
}

/// One entry per item. `{}` where there is no setting: some servers cannot bear null there.
fn configuration(settings: &Value, params: &Value) -> Value {
    let items = params.get("items").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let setting = |item: &Value| match item.get("section").and_then(Value::as_str) {
        None | Some("") => settings.clone(),
        Some(section) => {
            let found = section.split('.').try_fold(settings, |settings, name| settings.get(name));
            found.cloned().unwrap_or_else(|| json!({}))
        }
    };
    items.iter().take(1_000).map(setting).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configuration_has_one_entry_per_item() {
        let settings = json!({"python": {"analysis": {"x": 1}}});
        let items = json!({"items": [{"section": "python.analysis"}, {"section": "ruff"}, {}]});
        assert_eq!(configuration(&settings, &items), json!([{"x": 1}, {}, settings]));
        assert_eq!(configuration(&settings, &json!(null)), json!([]));
    }
}
