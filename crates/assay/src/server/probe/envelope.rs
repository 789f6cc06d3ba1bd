//! JSON-RPC 2.0 read strictly, for judging: what a message is, and every rule that it breaks.

use serde_json::Value;
use wire::Id;

/// A message by its members.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    Request {
        id: Id,
        method: String,
    },
    Notification {
        method: String,
    },
    /// `id` is `None` where it is null, missing or no id.
    Response {
        id: Option<Id>,
    },
    Nothing,
}

/// What a message is, and what is wrong with it (JSON-RPC 2.0 §4–§6; LSP 3.17 §abstractMessage).
pub(crate) fn read(message: &Value) -> (Kind, Vec<String>) {
    let mut faults = Vec::new();
    let Some(members) = message.as_object() else {
        let what = if message.is_array() { "an array: batches are not part of LSP" } else { "no object" };
        return (Kind::Nothing, vec![what.to_owned()]);
    };
    if members.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        faults.push("`jsonrpc` is not \"2.0\"".to_owned());
    }
    let id = members.get("id").and_then(|id| serde_json::from_value::<Id>(id.clone()).ok());
    let null_id = members.get("id").is_some_and(Value::is_null);
    if members.contains_key("id") && id.is_none() && !null_id {
        faults.push("`id` is neither an integer nor a string".to_owned());
    }
    let kind = match members.get("method") {
        Some(Value::String(method)) => call(members, id, method, &mut faults),
        Some(_) => {
            faults.push("`method` is no string".to_owned());
            Kind::Nothing
        }
        None if members.contains_key("id") => response(members, id, &mut faults),
        None => {
            faults.push("neither `method` nor `id`".to_owned());
            Kind::Nothing
        }
    };
    (kind, faults)
}

type Members = serde_json::Map<String, Value>;

fn call(members: &Members, id: Option<Id>, method: &str, faults: &mut Vec<String>) -> Kind {
    for name in ["result", "error"] {
        if members.contains_key(name) {
            faults.push(format!("both `method` and `{name}`"));
        }
    }
    if members.get("params").is_some_and(|params| !params.is_object() && !params.is_array() && !params.is_null()) {
        faults.push("`params` is neither an object nor an array".to_owned());
    }
    let method = method.to_owned();
    match id {
        Some(id) => Kind::Request { id, method },
        None => {
            if members.contains_key("id") {
                faults.push("a request whose `id` is none".to_owned());
            }
            Kind::Notification { method }
        }
    }
}

fn response(members: &Members, id: Option<Id>, faults: &mut Vec<String>) -> Kind {
    match (members.get("result"), members.get("error")) {
        (Some(_), Some(_)) => faults.push("both `result` and `error`".to_owned()),
        (None, None) => faults.push("neither `result` nor `error`".to_owned()),
        (Some(_), None) | (None, Some(_)) => {}
    }
    if let Some(error) = members.get("error") {
        if !error.get("code").is_some_and(Value::is_i64) {
            faults.push("`error.code` is no integer".to_owned());
        }
        if !error.get("message").is_some_and(Value::is_string) {
            faults.push("`error.message` is no string".to_owned());
        }
    }
    Kind::Response { id }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_broken_rule_is_named() {
        for (message, faults) in [
            (json!({"jsonrpc": "2.0", "id": 1, "result": null}), &[][..]),
            (json!({"jsonrpc": "2.0", "id": "a", "method": "m"}), &[]),
            (json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": ""}}), &[]),
            (json!({"id": 1, "result": 1}), &["`jsonrpc` is not \"2.0\""]),
            (json!({"jsonrpc": "2.0", "id": 1}), &["neither `result` nor `error`"]),
            (
                json!({"jsonrpc": "2.0", "id": 1, "result": null, "error": {"code": 1, "message": ""}}),
                &["both `result` and `error`"],
            ),
            (
                json!({"jsonrpc": "2.0", "id": 1, "error": {"code": "1"}}),
                &["`error.code` is no integer", "`error.message` is no string"],
            ),
            (
                json!({"jsonrpc": "2.0", "id": 1.5, "method": "m"}),
                &["`id` is neither an integer nor a string", "a request whose `id` is none"],
            ),
            (json!({"jsonrpc": "2.0", "method": "m", "params": 3}), &["`params` is neither an object nor an array"]),
            (json!({"jsonrpc": "2.0"}), &["neither `method` nor `id`"]),
            (json!([]), &["an array: batches are not part of LSP"]),
            (json!(1), &["no object"]),
        ] {
            assert_eq!(read(&message).1, faults, "{message}");
        }
    }
}
