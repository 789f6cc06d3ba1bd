//! Which rules a message sets off, and whether they stand in for what the server would do by default.

use scenario::script::{Rule, Trigger, Verb};

use super::list::Context;
use super::{Fake, Turn};

impl Fake {
    /// Begins the lists of the rules that match. Returns whether one of them answers, ignores or ends,
    /// and so stands in for the default.
    pub(super) fn begin_lists(&mut self, on: &Trigger, context: Context, turn: &mut Turn<'_>) -> bool {
        let matching = self.matching(on, &context);
        let script = std::sync::Arc::clone(&self.script);
        let stands_in = |rule: &usize| script.rules[*rule].actions.iter().any(|action| stands_in(&action.verb, on));
        let handled = matching.iter().any(stands_in);
        for rule in matching {
            self.begin_list(rule, context.clone(), turn);
        }
        self.advance(turn);
        handled || self.ended
    }

    /// Every rule whose other conditions hold counts the message, whether or not an earlier one wins.
    fn matching(&mut self, on: &Trigger, context: &Context) -> Vec<usize> {
        let script = std::sync::Arc::clone(&self.script);
        let mut matching = Vec::new();
        let mut won = false;
        for (index, rule) in script.rules.iter().enumerate() {
            if !self.meets(rule, on, context) {
                continue;
            }
            self.counts[index] += 1;
            let counted = rule.count.is_none_or(|count| count.matches(self.counts[index]));
            if counted && !won {
                matching.push(index);
                won = !rule.also;
            }
        }
        matching
    }

    fn meets(&self, rule: &Rule, on: &Trigger, context: &Context) -> bool {
        let document = context.document.as_deref();
        let is = |wanted: &Trigger| wanted == on || (*wanted == Trigger::Any && matches!(on, Trigger::Method(_)));
        is(&rule.on)
            && rule.instance.is_none_or(|count| count.matches(self.options.instance.into()))
            && rule.state.as_ref().is_none_or(|state| *state == self.state)
            && rule.document.as_ref().is_none_or(|pattern| context.uri.as_ref().is_some_and(|uri| names(pattern, uri)))
            && rule.version.is_none_or(|version| document.is_some_and(|document| document.now.version == version))
            && rule
                .text
                .as_ref()
                .is_none_or(|words| document.is_some_and(|document| document.now.text.contains(words.as_str())))
    }
}

fn stands_in(verb: &Verb, on: &Trigger) -> bool {
    let ends = match on {
        Trigger::Method(method) => method == "exit",
        _ => true,
    };
    match verb {
        Verb::Answer(_) | Verb::Result(_) | Verb::Error(_) | Verb::Ignore => true,
        Verb::Exit(_) | Verb::Die => ends,
        _ => false,
    }
}

/// Whether a pattern means a URI: as a glob of the whole, or of its end from a slash on.
pub(super) fn names(pattern: &str, uri: &str) -> bool {
    let ends = uri.match_indices('/').map(|(at, _)| &uri[at + 1..]);
    std::iter::once(uri).chain(ends).any(|end| glob(pattern.as_bytes(), end.as_bytes()))
}

/// `*` is any bytes, `?` is one.
fn glob(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut retry = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                retry = Some((p + 1, t));
                p += 1;
            }
            Some(byte) if *byte == b'?' || *byte == text[t] => {
                p += 1;
                t += 1;
            }
            _ => {
                let Some((after_star, from)) = retry else { return false };
                retry = Some((after_star, from + 1));
                p = after_star;
                t = from + 1;
            }
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn patterns_of_documents() {
        let uri = "file:///w/src/a.fake";
        for pattern in ["a.fake", "src/a.fake", "*.fake", "?.fake", "file:///*", "*", uri] {
            assert!(names(pattern, uri), "{pattern}");
        }
        for pattern in ["fake", ".fake", "b.fake", "rc/a.fake", "*.fak", ""] {
            assert!(!names(pattern, uri), "{pattern}");
        }
    }
}
