//! From a script as it is written to a checked one: one verb per action, fields that belong to their
//! verb, messages that exist, bounds.

use std::ops::Range;

use base64::Engine as _;
use toml::Spanned;

use super::file::{ActionFile, Flood, RuleFile, ScriptFile, Split, VERBS};
use super::{ACTIONS_MAX, Action, RULES_MAX, Rule, Script, Trigger, Verb};
use crate::error::{ParseError, Source};
use crate::value::Json;

/// Messages of one flood at most.
const FLOOD_MAX: u32 = 10_000_000;
/// Methods of the specification that have no slash.
const PLAIN_METHODS: [&str; 4] = ["initialize", "initialized", "shutdown", "exit"];

pub(super) fn script(name: &str, file: ScriptFile, source: &Source) -> Result<Script, ParseError> {
    if let Some(extra) = file.on.get(RULES_MAX) {
        return Err(source.error_at(extra.span(), format!("more than {RULES_MAX} rules"), "one too many"));
    }
    let rules = file.on.into_iter().map(|found| rule(found.into_inner(), source)).collect::<Result<_, _>>()?;
    Ok(Script {
        name: name.to_owned(),
        summary: file.summary,
        keeps: file.keeps,
        tags: file.tags,
        capabilities: file.capabilities,
        rules,
    })
}

fn rule(file: RuleFile, source: &Source) -> Result<Rule, ParseError> {
    let on = trigger(&file.message, source)?;
    let message_span = file.message.span();
    if file.actions.is_empty() {
        return Err(source
            .error_at(message_span, "a rule that does nothing", "expected an action in its `do`")
            .with_help("to leave out what the server would do by default, write do = [{ ignore = true }]"));
    }
    if let Some(extra) = file.actions.get(ACTIONS_MAX) {
        return Err(source.error_at(extra.span(), format!("more than {ACTIONS_MAX} actions"), "one too many"));
    }
    let actions = file.actions.into_iter().map(|found| action(found, &on, source)).collect::<Result<_, _>>()?;
    Ok(Rule {
        on,
        count: file.count,
        instance: file.instance,
        document: file.document,
        version: file.version,
        state: file.state,
        text: file.text,
        also: file.also,
        actions,
    })
}

fn trigger(message: &Spanned<String>, source: &Source) -> Result<Trigger, ParseError> {
    match message.get_ref().as_str() {
        "*" => Ok(Trigger::Any),
        "start" => Ok(Trigger::Start),
        "stdin-closed" => Ok(Trigger::StdinClosed),
        "terminate" => Ok(Trigger::Terminate),
        method if method.contains('/') || PLAIN_METHODS.contains(&method) => Ok(Trigger::Method(method.to_owned())),
        other => Err(source.error_at(
            message.span(),
            format!("no message is called {other:?}"),
            "expected a method such as \"textDocument/didOpen\", or \"*\", \"start\", \"stdin-closed\", \"terminate\"",
        )),
    }
}

fn action(found: Spanned<ActionFile>, on: &Trigger, source: &Source) -> Result<Action, ParseError> {
    let span = found.span();
    let file = found.into_inner();
    let mut verbs = verbs(&file, &span, source)?;
    let (name, verb) = match (verbs.pop(), verbs.pop()) {
        (Some(only), None) => only,
        (None, _) => return Err(no_verb(&span, source)),
        (Some((second, _)), Some((first, _))) => {
            let what = format!("an action with more than one verb: `{first}` and `{second}`");
            return Err(source
                .error_at(span, what, "expected exactly one verb")
                .with_help("write one action for each; they are done in order"));
        }
    };
    fields_fit(&file, name, &verb, &span, source)?;
    trigger_fits(name, &verb, on, &span, source)?;
    bounds(&file, &span, source)?;
    Ok(Action {
        verb,
        after: file.after.unwrap_or_default().get(),
        jitter: file.jitter.unwrap_or_default().get(),
        until: file.until,
        cancel_on_change: file.cancel_on_change,
        split: file.split,
    })
}

fn no_verb(span: &Range<usize>, source: &Source) -> ParseError {
    let label = "expected exactly one verb";
    source
        .error_at(span.clone(), "an action without a verb", label)
        .with_help(format!("the verbs are {}", VERBS.join(", ")))
}

/// Every verb that the action has, in the order of the fields.
fn verbs(file: &ActionFile, span: &Range<usize>, source: &Source) -> Result<Vec<(&'static str, Verb)>, ParseError> {
    let publish = file.publish.clone().map(|what| Verb::Publish {
        what,
        version: file.version.unwrap_or_default(),
        document: file.document.clone(),
    });
    let error = file.error.clone().map(|error| {
        let data = error.data.map(|Json(data)| data);
        Verb::Error(wire::ResponseError { code: wire::ErrorCode(error.code), message: error.message, data })
    });
    let notify = file
        .notify
        .clone()
        .map(|notify| Verb::Notify { method: notify.method, params: notify.params.map(|Json(params)| params) });
    let request = file.request.clone().map(|request| Verb::Request {
        method: request.method,
        params: request.params.map(|Json(params)| params),
        id: request.id.map(|id| id.0),
        wait: request.wait,
    });
    let progress = file.progress.map(|kind| Verb::Progress {
        kind,
        token: file.token.clone().map_or_else(|| wire::Id::String("work".to_owned()), |token| token.0),
        title: file.title.clone().unwrap_or_else(|| "working".to_owned()),
    });
    let found = [
        publish,
        file.answer.map(Verb::Answer),
        file.result.clone().map(|Json(result)| Verb::Result(result)),
        error,
        file.ignore.map(|_| Verb::Ignore),
        notify,
        request,
        progress,
        file.refresh.map(|_| Verb::Refresh),
        file.log.clone().map(Verb::Log),
        file.stderr.clone().map(Verb::Stderr),
        file.raw.clone().map(Verb::RawText),
        file.base64.as_ref().map(|text| bytes(text, source)).transpose()?,
        file.frame.clone().map(Verb::Frame),
        file.flood.map(|flood| flood_fits(flood, span, source)).transpose()?,
        file.stop_reading.map(|_| Verb::StopReading),
        file.resume_reading.map(|_| Verb::ResumeReading),
        file.close_stdout.map(|_| Verb::CloseStdout),
        file.exit.map(|code| Verb::Exit(i32::from(code))),
        file.die.map(|_| Verb::Die),
        file.state.clone().map(Verb::State),
        file.open.clone().map(Verb::Open),
    ];
    Ok(VERBS.into_iter().zip(found).filter_map(|(name, verb)| Some((name, verb?))).collect())
}

fn bytes(text: &Spanned<String>, source: &Source) -> Result<Verb, ParseError> {
    let engine = base64::engine::general_purpose::STANDARD;
    engine.decode(text.get_ref()).map(Verb::RawBytes).map_err(|error| {
        source.error_at(text.span(), format!("not base64: {error}"), "expected the standard alphabet, padded")
    })
}

fn flood_fits(flood: Flood, span: &Range<usize>, source: &Source) -> Result<Verb, ParseError> {
    if (1..=FLOOD_MAX).contains(&flood.count) {
        return Ok(Verb::Flood(flood));
    }
    let what = format!("a flood of {}", flood.count);
    Err(source.error_at(span.clone(), what, format!("expected a count of 1 to {FLOOD_MAX}")))
}

/// Fields that say how a verb is done stand only beside the verbs that they mean something to.
fn fields_fit(
    file: &ActionFile,
    name: &str,
    verb: &Verb,
    span: &Range<usize>,
    source: &Source,
) -> Result<(), ParseError> {
    let publishes = matches!(verb, Verb::Publish { .. });
    let progresses = matches!(verb, Verb::Progress { .. });
    let wrong = [
        ("version", file.version.is_some() && !publishes),
        ("document", file.document.is_some() && !publishes),
        ("token", file.token.is_some() && !progresses),
        ("title", file.title.is_some() && !progresses),
        ("split", file.split.is_some() && !writes(verb)),
    ];
    match wrong.iter().find(|(_, wrong)| *wrong) {
        None => Ok(()),
        Some((field, _)) => {
            let what = format!("`{field}` means nothing to `{name}`");
            Err(source.error_at(span.clone(), what, format!("expected no `{field}` here")))
        }
    }
}

fn writes(verb: &Verb) -> bool {
    match verb {
        Verb::Publish { .. }
        | Verb::Answer(_)
        | Verb::Result(_)
        | Verb::Error(_)
        | Verb::Notify { .. }
        | Verb::Request { .. }
        | Verb::Progress { .. }
        | Verb::Refresh
        | Verb::Log(_)
        | Verb::RawText(_)
        | Verb::RawBytes(_)
        | Verb::Frame(_) => true,
        Verb::Ignore
        | Verb::Stderr(_)
        | Verb::Flood(_)
        | Verb::StopReading
        | Verb::ResumeReading
        | Verb::CloseStdout
        | Verb::Exit(_)
        | Verb::Die
        | Verb::State(_)
        | Verb::Open(_) => false,
    }
}

/// Nothing is to be answered, and there is no document, where no message came.
fn trigger_fits(name: &str, verb: &Verb, on: &Trigger, span: &Range<usize>, source: &Source) -> Result<(), ParseError> {
    if matches!(on, Trigger::Method(_) | Trigger::Any) {
        return Ok(());
    }
    match verb {
        Verb::Answer(_) | Verb::Result(_) | Verb::Error(_) => {
            let what = format!("`{name}` where no request came");
            Err(source.error_at(span.clone(), what, "expected a verb that does not answer"))
        }
        Verb::Publish { document: None, .. } => {
            Err(source.error_at(span.clone(), "`publish` where no document is meant", "expected `document` as well"))
        }
        _ => Ok(()),
    }
}

fn bounds(file: &ActionFile, span: &Range<usize>, source: &Source) -> Result<(), ParseError> {
    if let Some(Split { bytes: 0, .. }) = file.split {
        return Err(source.error_at(span.clone(), "writes of no bytes", "expected `split` with at least one byte"));
    }
    Ok(())
}
