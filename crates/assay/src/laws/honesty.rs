//! Honesty: the conclusion is the right one of five, clean is said only of what a server concluded, and
//! certificates hold against the server's own trace.

use feedback::certificate::{Recorded, verify};
use feedback::{Certificate, Conclusion, MessageRef};
use scenario::scenario::Expect;
use wire::trace::{Direction, Entry, Line};

use super::seen::{ServerResult, at, results, slack};
use super::{Looked, Sheet};
use crate::protocol::Feedback;
use crate::results::Law;
use crate::runner::{Call, Run};
use crate::world::Instance;

pub(super) fn judge(sheet: &mut Sheet<'_, '_>) {
    conclusion(sheet);
    clean_is_concluded(sheet);
    certificates(sheet);
}

/// The conclusion with all that belongs to it, as the scenario expects it.
fn conclusion(sheet: &mut Sheet<'_, '_>) {
    let run = sheet.run;
    let mut looked = Looked::default();
    for (call, expect) in run.expected().filter(|(call, _)| call.op == "edit") {
        match call.feedback() {
            Some((_, feedback)) => told_as_expected(run, call, expect, feedback, &mut looked),
            None if expect.refused || expect.conclusion.is_empty() => {}
            None => looked.at(Some(format!("{}: no answer", at(run, call)))),
        }
    }
    sheet.check(Law::Honesty, "honesty/conclusion", "the conclusion that the scenario calls for", looked);
}

fn told_as_expected(run: &Run<'_>, call: &Call, expect: &Expect, feedback: &Feedback, looked: &mut Looked) {
    let at = at(run, call);
    let mut one_of = |what: &str, allowed: &[&str], seen: Option<String>| {
        let told = seen.is_some() || run.can(what);
        if !allowed.is_empty() && told {
            let seen = seen.unwrap_or_else(|| "none".to_owned());
            looked.holds(allowed.contains(&seen.as_str()), || {
                format!("{at}: {} {seen}, expected {}", what.replace('-', " "), allowed.join(" or "))
            });
        }
    };
    let conclusions: Vec<&str> = expect.conclusion.iter().map(|allowed| allowed.name()).collect();
    one_of("conclusion", &conclusions, concluded(feedback).map(|conclusion| conclusion.to_string()));
    let known_by: Vec<&str> = expect.known_by.iter().map(|allowed| allowed.name()).collect();
    one_of("known-by", &known_by, feedback.known_by.map(name_of));
    let reasons: Vec<&str> = expect.reason.iter().map(String::as_str).collect();
    one_of("reason", &reasons, feedback.reason.clone());
    let complete: Vec<&str> = expect.complete.iter().map(|complete| yes_no(*complete)).collect();
    one_of("complete", &complete, feedback.complete.map(|complete| yes_no(complete).to_owned()));
}

fn yes_no(yes: bool) -> &'static str {
    if yes { "yes" } else { "no" }
}

fn name_of(known_by: feedback::KnownBy) -> String {
    serde_json::to_value(known_by).ok().and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default()
}

/// The conclusion that a reader takes from an answer: a loop that names none and shows nothing says clean.
fn concluded(feedback: &Feedback) -> Option<Conclusion> {
    feedback.conclusion.or_else(|| {
        let shown = feedback.findings.as_ref().is_some_and(|findings| !findings.is_empty())
            || feedback.text.as_deref().is_some_and(|text| crate::history::Tag::in_text(text).is_some());
        Some(if shown { Conclusion::Errors } else { Conclusion::Clean })
    })
}

/// Where clean is said, each required server had sent a result without errors for the newest text.
fn clean_is_concluded(sheet: &mut Sheet<'_, '_>) {
    let run = sheet.run;
    let mut looked = Looked::default();
    for call in &run.calls {
        let (Some((answered, feedback)), Some(path)) = (call.feedback(), &call.path) else { continue };
        if concluded(feedback) != Some(Conclusion::Clean) {
            continue;
        }
        let newest = run.history.newest_between(path, call.asked, answered);
        let until = answered.after(slack(run.world));
        let results = results(run, path);
        let said = |server: &str| {
            results.iter().any(|result| {
                let instance = &run.observed.instances[result.instance];
                instance.server == server && result.at <= until && proves_clean(result, &newest)
            })
        };
        let covers = |extensions: &[String]| extensions.iter().any(|extension| path.ends_with(extension.as_str()));
        for server in run.scenario.servers.iter().filter(|server| server.required && covers(&server.extensions)) {
            looked.holds(said(&server.name), || {
                format!("{}: clean, but {} had sent no clean result for that text", at(run, call), server.name)
            });
        }
    }
    let expected = "clean is said only after the server's clean result for the newest text";
    sheet.check(Law::Honesty, "honesty/clean-is-concluded", expected, looked);
}

fn proves_clean(result: &ServerResult<'_>, newest: &[u32]) -> bool {
    !result.has_errors() && result.about.is_some_and(|about| newest.contains(&about))
}

/// Each certificate holds against the trace of some start of its server.
fn certificates(sheet: &mut Sheet<'_, '_>) {
    let run = sheet.run;
    let mut looked = Looked::default();
    for call in &run.calls {
        let Some((answered, feedback)) = call.feedback() else { continue };
        let claims = matches!(feedback.conclusion, Some(Conclusion::Clean | Conclusion::Errors));
        if claims && run.can("certificates") {
            looked.holds(!feedback.certificates.is_empty(), || {
                format!("{}: a conclusion without a certificate", at(run, call))
            });
        }
        for certificate in &feedback.certificates {
            let path = call.path.as_deref().unwrap_or_default();
            let newest = run.history.newest_between(path, call.asked, answered);
            looked.holds(newest.contains(&certificate.text_hash.0), || {
                format!("{}: the certificate is for the text {}", at(run, call), certificate.text_hash)
            });
            if is_numbered(run, certificate) {
                looked.at(refuted(run, certificate).map(|why| format!("{}: {why}", at(run, call))));
            }
        }
    }
    let expected = "each conclusion has a certificate, and it holds against the server's own trace";
    sheet.check(Law::Honesty, "honesty/certificate", expected, looked);
}

/// Whether the server's messages can be numbered: a trace leaves out those of a flood.
fn is_numbered(run: &Run<'_>, certificate: &Certificate) -> bool {
    let mut instances = run.observed.instances.iter().filter(|instance| instance.server == certificate.server);
    let is_flood = |line: &Line| matches!(&line.entry, Entry::Note { what, .. } if what == "flood");
    instances.all(|instance| !instance.lines.iter().any(is_flood))
}

/// Why no start of the server bears the certificate out, if none does.
fn refuted(run: &Run<'_>, certificate: &Certificate) -> Option<String> {
    let mut why = format!("no server {} was started", certificate.server);
    for instance in run.observed.instances.iter().filter(|instance| instance.server == certificate.server) {
        let contents = contents(instance);
        let recorded: Vec<Recorded<'_>> =
            contents.iter().map(|(message, content)| Recorded { message: *message, at: None, content }).collect();
        match verify(certificate, &recorded) {
            Ok(()) => return None,
            Err(refuted) => why = refuted.to_string(),
        }
    }
    Some(why)
}

/// The JSON messages of a trace, numbered in each direction.
fn contents(instance: &Instance) -> Vec<(MessageRef, Vec<u8>)> {
    let (mut to_server, mut to_client) = (0, 0);
    let messages = instance.lines.iter().filter_map(|line| match &line.entry {
        Entry::Message { dir, msg } => Some((*dir, msg)),
        _ => None,
    });
    messages
        .map(|(dir, msg)| {
            let next = if dir == Direction::ToServer { &mut to_server } else { &mut to_client };
            let message = MessageRef { dir, seq: *next };
            *next += 1;
            (message, msg.to_string().into_bytes())
        })
        .collect()
}
