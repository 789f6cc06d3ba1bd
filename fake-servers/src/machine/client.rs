//! What the client told of itself with `initialize`: only what changes how a server behaves.

use scenario::script::file::Encoding;
use serde_json::Value;

#[derive(Debug, Default)]
pub(super) struct Client {
    /// The encoding in which positions are counted.
    pub(super) encoding: Encoding,
    /// The encodings that it offered.
    offered: Vec<String>,
    /// The root's URI, without a slash at its end; empty if it told none.
    pub(super) root: String,
    /// It creates progress tokens when asked to.
    pub(super) progress: bool,
    /// It pulls again when asked to.
    pub(super) refresh: bool,
}

impl Client {
    /// Reads the parameters of `initialize`, tolerantly.
    pub(super) fn read(params: &Value) -> Self {
        let flag = |pointer: &str| params.pointer(pointer).and_then(Value::as_bool).unwrap_or(false);
        let text = |pointer: &str| params.pointer(pointer).and_then(Value::as_str);
        let offered = params.pointer("/capabilities/general/positionEncodings").and_then(Value::as_array);
        let offered = offered.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
        let root = text("/workspaceFolders/0/uri").or_else(|| text("/rootUri")).unwrap_or_default();
        Self {
            encoding: Encoding::default(),
            offered,
            root: root.trim_end_matches('/').to_owned(),
            progress: flag("/capabilities/window/workDoneProgress"),
            // The specification says `diagnostics`; a widespread library writes `diagnostic`.
            refresh: flag("/capabilities/workspace/diagnostics/refreshSupport")
                || flag("/capabilities/workspace/diagnostic/refreshSupport"),
        }
    }

    pub(super) fn offers(&self, encoding: &str) -> bool {
        self.offered.iter().any(|offered| offered == encoding)
    }

    /// The URI of a path below the root.
    pub(super) fn uri_of(&self, path: &str) -> String {
        format!("{}/{}", self.root, path.trim_start_matches('/'))
    }
}

/// How an encoding is written in the protocol.
pub(super) fn encoding_name(encoding: Encoding) -> &'static str {
    match encoding {
        Encoding::Utf8 => "utf-8",
        Encoding::Utf16 => "utf-16",
        Encoding::Utf32 => "utf-32",
    }
}

/// The encoding of that name.
pub(super) fn encoding_named(name: &str) -> Option<Encoding> {
    [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32].into_iter().find(|encoding| encoding_name(*encoding) == name)
}
