//! Placeholders in what a script sends: `${uri}`, `${version}`, `${id}`, `${root}`, `${tag}`,
//! `${findings}`. A JSON string that is nothing but a placeholder becomes its value.

use serde_json::Value;

/// What stands for each name.
pub(super) struct Values {
    pub(super) uri: Value,
    pub(super) version: Value,
    pub(super) id: Value,
    pub(super) root: Value,
    pub(super) tag: Value,
    pub(super) findings: Value,
}

impl Values {
    fn named(&self) -> [(&'static str, &Value); 6] {
        [
            ("${uri}", &self.uri),
            ("${version}", &self.version),
            ("${id}", &self.id),
            ("${root}", &self.root),
            ("${tag}", &self.tag),
            ("${findings}", &self.findings),
        ]
    }

    /// Fills in the placeholders of a text: strings as they are, everything else as JSON.
    pub(super) fn text(&self, template: &str) -> String {
        if !template.contains("${") {
            return template.to_owned();
        }
        self.named().iter().fold(template.to_owned(), |text, (name, value)| match value {
            Value::String(string) => text.replace(name, string),
            other if text.contains(name) => text.replace(name, &other.to_string()),
            _ => text,
        })
    }

    /// Fills in the placeholders of JSON.
    pub(super) fn json(&self, template: &Value) -> Value {
        match template {
            Value::String(text) => match self.named().into_iter().find(|(name, _)| name == text) {
                Some((_, value)) => value.clone(),
                None => Value::String(self.text(text)),
            },
            Value::Array(items) => Value::Array(items.iter().map(|item| self.json(item)).collect()),
            Value::Object(members) => {
                Value::Object(members.iter().map(|(key, value)| (self.text(key), self.json(value))).collect())
            }
            other => other.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn placeholders_become_values() {
        let values = Values {
            uri: json!("file:///a"),
            version: json!(3),
            id: Value::Null,
            root: json!(""),
            tag: json!("00.0"),
            findings: json!([1]),
        };
        let template =
            json!({ "uri": "${uri}", "v": "${version}", "m": "at ${version} of ${uri}", "d": ["${findings}"] });
        let filled = json!({ "uri": "file:///a", "v": 3, "m": "at 3 of file:///a", "d": [[1]] });
        assert_eq!(values.json(&template), filled);
        assert_eq!(values.text("{\"id\":${id}} ${other}"), "{\"id\":null} ${other}");
    }
}
