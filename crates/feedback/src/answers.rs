//! What a server may ask of its client, and the loop's answers. None of them needs more than the table.

use serde_json::{Value, json};
use wire::{ErrorCode, ResponseError};

/// What a request of the server amounts to for the loop.
pub(crate) enum Asks {
    /// An answer, and nothing more.
    Nothing(Result<Value, ResponseError>),
    /// Pull diagnostics are registered or withdrawn; answered with null.
    Register(Value),
    /// See [`Asks::Register`].
    Unregister(Value),
    /// Findings are to be pulled again; answered with null.
    Refresh,
}

/// Items that one `workspace/configuration` may ask for; more is not a question but a flood.
const ITEMS_MAX: usize = 10_000;

/// Decides about one request of the server.
pub(crate) fn to(method: &str, params: &Value, settings: &Value, folder: impl FnOnce() -> Value) -> Asks {
    let result = |value| Asks::Nothing(Ok(value));
    match method {
        "workspace/configuration" => Asks::Nothing(configuration(params, settings)),
        "workspace/workspaceFolders" => result(json!([folder()])),
        "client/registerCapability" => Asks::Register(params.clone()),
        "client/unregisterCapability" => Asks::Unregister(params.clone()),
        "workspace/diagnostic/refresh" => Asks::Refresh,
        "window/workDoneProgress/create" | "window/showMessageRequest" => result(Value::Null),
        "window/showDocument" => result(json!({ "success": false })),
        "workspace/applyEdit" => {
            result(json!({ "applied": false, "failureReason": "this client does not apply edits" }))
        }
        // Harmless without their capability, and some servers fail when they are refused.
        "workspace/semanticTokens/refresh"
        | "workspace/codeLens/refresh"
        | "workspace/inlayHint/refresh"
        | "workspace/inlineValue/refresh"
        | "workspace/foldingRange/refresh" => result(Value::Null),
        _ => Asks::Nothing(Err(ResponseError::new(
            ErrorCode::METHOD_NOT_FOUND,
            format!("this client does not know {}", crate::clean::line(method, 100)),
        ))),
    }
}

/// One entry per item, in their order. An unknown section is `{}` rather than the specification's
/// `null`: for `null`, servers were seen to fail inside and then to report nothing.
fn configuration(params: &Value, settings: &Value) -> Result<Value, ResponseError> {
    let Some(items) = params.get("items").and_then(Value::as_array).filter(|items| items.len() <= ITEMS_MAX) else {
        return Err(ResponseError::new(ErrorCode::INVALID_PARAMS, "items is not an array of bounded length"));
    };
    let entry = |item: &Value| {
        let section = item.get("section").and_then(Value::as_str).unwrap_or_default();
        let found =
            section.split('.').filter(|name| !name.is_empty()).try_fold(settings, |within, name| within.get(name));
        found.filter(|found| !found.is_null()).cloned().unwrap_or_else(|| json!({}))
    };
    Ok(items.iter().map(entry).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configuration_is_an_array_of_the_right_length() {
        let settings = json!({ "python": { "analysis": { "mode": "strict" } } });
        let params = json!({ "items": [
            { "section": "python.analysis" }, { "section": "none.such" }, {}, { "section": "python.analysis.mode" }
        ] });
        let answer = configuration(&params, &settings).expect("an answer");
        assert_eq!(answer, json!([{ "mode": "strict" }, {}, settings, "strict"]));
        assert!(configuration(&json!({}), &settings).is_err());
    }
}
