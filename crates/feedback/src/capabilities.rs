//! What the loop says it can at `initialize`, and what it understands of the server's answer. It
//! announces what it does and nothing else.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::text::Encoding;

/// The client capabilities: everything named here is done by the loop.
pub(crate) fn offered() -> Value {
    json!({
        "general": { "positionEncodings": Encoding::OFFERED },
        "window": { "workDoneProgress": true },
        "workspace": {
            "configuration": true,
            "workspaceFolders": true,
            "diagnostics": { "refreshSupport": true },
        },
        "textDocument": {
            "synchronization": { "didSave": true },
            "publishDiagnostics": { "versionSupport": true },
            "diagnostic": { "dynamicRegistration": true },
        },
    })
}

/// How changes are told (LSP `TextDocumentSyncKind`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SyncKind {
    None,
    Full,
    Incremental,
}

/// One source of pull diagnostics: the static one, or a registration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Provider {
    /// The registration's id; `None` for the static one.
    pub(crate) registration: Option<String>,
    pub(crate) identifier: Option<String>,
}

/// What matters of the server's capabilities.
#[derive(Clone, Debug)]
pub(crate) struct ServerCapabilities {
    pub(crate) encoding: Encoding,
    pub(crate) open_close: bool,
    pub(crate) sync: SyncKind,
    /// Whether `didSave` is wanted, and whether with the text.
    pub(crate) save: Option<bool>,
    pub(crate) provider: Option<Provider>,
}

/// Options of a diagnostic provider, static or registered.
#[derive(Default, Deserialize)]
struct ProviderOptions {
    #[serde(default)]
    identifier: Option<String>,
}

impl Provider {
    /// From the options of the capability or of a registration; odd options count as none.
    pub(crate) fn new(registration: Option<String>, options: &Value) -> Self {
        let options = ProviderOptions::deserialize(options).unwrap_or_default();
        Self { registration, identifier: options.identifier }
    }
}

impl ServerCapabilities {
    /// Reads the result of `initialize`. Unknown and odd members are ignored, as the specification asks.
    ///
    /// # Errors
    /// A sentence fragment, when there are no capabilities or the encoding was not offered.
    pub(crate) fn read(result: &str) -> Result<Self, String> {
        let result: Value = serde_json::from_str(result).map_err(|error| error.to_string())?;
        let capabilities = result.get("capabilities").filter(|capabilities| capabilities.is_object());
        let capabilities = capabilities.ok_or("the result of initialize holds no capabilities")?;
        let encoding = match &capabilities["positionEncoding"] {
            Value::Null => Encoding::Utf16,
            Value::String(name) => {
                Encoding::named(name).ok_or_else(|| format!("position encoding {name:?} was not offered"))?
            }
            other => return Err(format!("position encoding {other} is not a name")),
        };
        let provider = match &capabilities["diagnosticProvider"] {
            Value::Null | Value::Bool(false) => None,
            options => Some(Provider::new(None, options)),
        };
        let sync = &capabilities["textDocumentSync"];
        let kind = |value: &Value| match value.as_u64() {
            Some(1) => SyncKind::Full,
            Some(2) => SyncKind::Incremental,
            _ => SyncKind::None,
        };
        Ok(match sync {
            Value::Object(options) => {
                let save = match &sync["save"] {
                    Value::Bool(true) => Some(false),
                    Value::Object(save) => Some(save.get("includeText") == Some(&Value::Bool(true))),
                    _ => None,
                };
                let open_close = options.get("openClose") == Some(&Value::Bool(true));
                Self { encoding, open_close, sync: kind(&sync["change"]), save, provider }
            }
            // The old form: a number means open, close, change of that kind, and save.
            number => {
                let sync = kind(number);
                let any = sync != SyncKind::None;
                Self { encoding, open_close: any, sync, save: any.then_some(false), provider }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(capabilities: &str) -> Result<ServerCapabilities, String> {
        ServerCapabilities::read(&format!(r#"{{"capabilities":{capabilities}}}"#))
    }

    #[test]
    fn both_forms_of_sync_are_taken() {
        let cases = [
            (r#"{"textDocumentSync":1}"#, true, SyncKind::Full, Some(false)),
            (r#"{"textDocumentSync":2}"#, true, SyncKind::Incremental, Some(false)),
            (r#"{"textDocumentSync":0}"#, false, SyncKind::None, None),
            ("{}", false, SyncKind::None, None),
            (r#"{"textDocumentSync":{"openClose":true,"change":2}}"#, true, SyncKind::Incremental, None),
            (
                r#"{"textDocumentSync":{"openClose":true,"change":1,"save":{"includeText":true}}}"#,
                true,
                SyncKind::Full,
                Some(true),
            ),
            (r#"{"textDocumentSync":{"change":1,"save":true}}"#, false, SyncKind::Full, Some(false)),
        ];
        for (json, open_close, sync, save) in cases {
            let read = read(json).expect(json);
            assert_eq!((read.open_close, read.sync, read.save), (open_close, sync, save), "{json}");
        }
    }

    #[test]
    fn encodings_and_providers() {
        assert_eq!(read(r#"{"positionEncoding":"utf-8"}"#).expect("read").encoding, Encoding::Utf8);
        assert!(read(r#"{"positionEncoding":"utf-7"}"#).is_err());
        assert!(ServerCapabilities::read("null").is_err());
        let provider = |json: &str| read(json).expect(json).provider;
        assert_eq!(provider(r#"{"diagnosticProvider":false}"#), None);
        let named = Some(Provider { registration: None, identifier: Some("x".to_owned()) });
        assert_eq!(provider(r#"{"diagnosticProvider":{"identifier":"x"}}"#), named);
        assert!(provider(r#"{"diagnosticProvider":true}"#).is_some());
    }
}
