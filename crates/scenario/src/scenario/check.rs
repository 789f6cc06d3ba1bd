//! From a scenario as it is written to a checked one: one verb per step, labels that exist, budgets that
//! real processes can be waited for, texts that can be told apart.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use serde_json::Value;
use toml::Spanned;

use super::file::{
    BudgetFile, Direction, ExpectFile, MessageFile, PathFile, RunExpectFile, ScenarioFile, ServerFile, StepFile,
    TextFile, Worlds,
};
use super::{
    Budget, Expect, FileText, MessageCount, REAL_BUDGET_MAX, RunExpect, STEPS_MAX, Scenario, ServerScript, ServerSetup,
    Step, TEXT_BYTES_MAX, Verb,
};
use crate::error::{ParseError, Source};
use crate::script::{Script, ScriptFile};
use crate::value::Json;

/// The extension of a scenario's files unless it says otherwise.
const EXTENSION: &str = ".fake";

pub(super) fn scenario(id: &str, mut file: ScenarioFile, source: &Source) -> Result<Scenario, ParseError> {
    let law = *file.law.get_ref();
    // An id is `law/name`; the path of somebody's own file ends in `.toml` and says nothing about the law.
    let folder = id.split_once('/').filter(|_| !id.ends_with(".toml")).map(|(folder, _)| folder);
    if folder.is_some_and(|folder| folder != law.name()) {
        let what = format!("the law is {}, but the file is {id}", law.name());
        return Err(source.error_at(file.law.span(), what, "expected the name of the folder"));
    }
    let worlds = file.world.as_ref().map_or(Worlds::Both, |world| *world.get_ref());
    if let (Some(world), None) = (&file.world, &file.reason)
        && worlds != Worlds::Both
    {
        return Err(source.error_at(world.span(), "a scenario for one world only", "expected a `reason` beside it"));
    }
    let budget = budget(file.budget.take(), worlds, source)?;
    let servers = servers(&mut file, source)?;
    let steps = steps(std::mem::take(&mut file.step), &servers, source)?;
    let expect = run_expect(std::mem::take(&mut file.expect), source)?;
    Ok(Scenario {
        id: id.to_owned(),
        summary: file.summary,
        law,
        worlds,
        reason: file.reason,
        seen: file.seen,
        budget,
        servers,
        steps,
        expect,
    })
}

fn budget(found: Option<Spanned<BudgetFile>>, worlds: Worlds, source: &Source) -> Result<Budget, ParseError> {
    let span = found.as_ref().map_or(0..0, Spanned::span);
    let file = found.map(Spanned::into_inner).unwrap_or_default();
    let or = |given: Option<crate::Duration>, default| given.map_or(default, crate::Duration::get);
    let call = or(file.call, Duration::from_millis(400));
    let budget = Budget { initialize: or(file.initialize, Duration::from_secs(1)), first: or(file.first, call), call };
    if worlds != Worlds::Simulated && budget.call.max(budget.first) > REAL_BUDGET_MAX {
        let what = format!("a budget over {}ms for a scenario of the real world", REAL_BUDGET_MAX.as_millis());
        return Err(source.error_at(span, what, "expected shorter ones, or world = \"simulated\""));
    }
    Ok(budget)
}

fn servers(file: &mut ScenarioFile, source: &Source) -> Result<Vec<ServerSetup>, ParseError> {
    let one = file.server.is_some() || file.script.is_some();
    if one && !file.servers.is_empty() {
        let span = file.servers[0].span();
        return Err(source.error_at(span, "both one server and several", "expected all of them as [[servers]]"));
    }
    if one {
        let only = ServerFile {
            name: "fake".to_owned(),
            server: file.server.take(),
            script: file.script.take(),
            missing: None,
            extensions: None,
            settings: file.settings.take(),
            required: true,
        };
        return Ok(vec![server(only, 0..0, source)?]);
    }
    if file.servers.is_empty() {
        let label = "expected `server = \"NAME\"`, `[script]` or `[[servers]]`";
        return Err(source.error_at(0..0, "a scenario without a server", label));
    }
    let mut servers: Vec<ServerSetup> = Vec::new();
    for found in std::mem::take(&mut file.servers) {
        let span = found.span();
        let next = server(found.into_inner(), span.clone(), source)?;
        if servers.iter().any(|server| server.name == next.name) {
            return Err(source.error_at(span, format!("two servers are called {:?}", next.name), "the second"));
        }
        servers.push(next);
    }
    Ok(servers)
}

fn server(file: ServerFile, span: Range<usize>, source: &Source) -> Result<ServerSetup, ParseError> {
    let script = match (file.server, file.script, file.missing) {
        (Some(name), None, None) => {
            let span = name.span();
            ServerScript::Named { name: name.into_inner(), span }
        }
        (None, Some(script), None) => inline(&file.name, script, source)?,
        (None, None, Some(_)) => ServerScript::Missing,
        _ => {
            let label = "expected exactly one of `server`, `script` and `missing`";
            return Err(source.error_at(span, format!("what {:?} runs is not clear", file.name), label));
        }
    };
    let extensions = file.extensions.unwrap_or_else(|| vec![EXTENSION.to_owned()]);
    if let Some(wrong) = extensions.iter().find(|extension| !extension.starts_with('.')) {
        return Err(source.error_at(span, format!("{wrong:?} is not an extension"), "expected such as \".fake\""));
    }
    let settings = file.settings.map_or(Value::Null, |Json(settings)| settings);
    Ok(ServerSetup { name: file.name, script, extensions, settings, required: file.required })
}

/// The script's own text is cut out of the scenario as a value, so that a process can be given it.
fn inline(name: &str, found: Spanned<ScriptFile>, source: &Source) -> Result<ServerScript, ParseError> {
    let span = found.span();
    let script = Script::check(name, found.into_inner(), source)?;
    let text = inline_text(name, source.text())
        .ok_or_else(|| source.error_at(span, "a script that cannot be written out", "expected plain TOML"))?;
    Ok(ServerScript::Inline { script: Box::new(script), text })
}

fn inline_text(server: &str, scenario: &str) -> Option<String> {
    let table: toml::Table = toml::from_str(scenario).ok()?;
    let script = match table.get("script") {
        Some(script) => script,
        None => table.get("servers")?.as_array()?.iter().find_map(|entry| {
            let named = entry.get("name")?.as_str()? == server;
            named.then(|| entry.get("script")).flatten()
        })?,
    };
    toml::to_string(script).ok()
}

fn steps(found: Vec<Spanned<StepFile>>, servers: &[ServerSetup], source: &Source) -> Result<Vec<Step>, ParseError> {
    if found.is_empty() {
        return Err(source.error_at(0..0, "a scenario without steps", "expected at least one [[step]]"));
    }
    if let Some(extra) = found.get(STEPS_MAX) {
        return Err(source.error_at(extra.span(), format!("more than {STEPS_MAX} steps"), "one too many"));
    }
    let mut labels = Labels::default();
    let mut texts = BTreeMap::new();
    found
        .into_iter()
        .map(|found| {
            let span = found.span();
            let at = |what: String, label: &str| source.error_at(span.clone(), what, label);
            let step = step(found.into_inner(), &span, source)?;
            labels.take(&step).map_err(|(what, label)| at(what, label))?;
            distinct(&step.verb, &mut texts).map_err(|what| at(what, "expected texts whose hashes differ"))?;
            if let Verb::Kill(name) = &step.verb
                && !servers.iter().any(|server| server.name == *name)
            {
                return Err(at(format!("no server is called {name:?}"), "expected the name of a server"));
            }
            Ok(step)
        })
        .collect()
}

/// The calls that were started, and whether each was awaited.
#[derive(Default)]
struct Labels(BTreeMap<String, bool>);

impl Labels {
    fn take(&mut self, step: &Step) -> Result<(), (String, &'static str)> {
        if let Some(label) = &step.start
            && self.0.insert(label.clone(), false).is_some()
        {
            return Err((format!("two calls are started under the label {label:?}"), "the second"));
        }
        match &step.verb {
            Verb::Cancel(label) if !self.0.contains_key(label) => Err(Self::unknown(label)),
            Verb::Await(label) => match self.0.insert(label.clone(), true) {
                None => Err(Self::unknown(label)),
                Some(true) => Err((format!("{label:?} is awaited twice"), "the second time")),
                Some(false) => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn unknown(label: &str) -> (String, &'static str) {
        (format!("no call was started under the label {label:?}"), "expected the label of an earlier `start`")
    }
}

/// Findings are traced back to texts by hash, so no two texts of a scenario may share one.
fn distinct(verb: &Verb, texts: &mut BTreeMap<u32, String>) -> Result<(), String> {
    let (Verb::Edit(file) | Verb::Write(file)) = verb else { return Ok(()) };
    let hash = wire::text_hash(file.text.as_bytes());
    match texts.insert(hash, file.text.clone()) {
        Some(other) if other != file.text => Err(format!("this text has the hash {hash:08x} of another one")),
        _ => Ok(()),
    }
}

fn step(file: StepFile, span: &Range<usize>, source: &Source) -> Result<Step, ParseError> {
    let at = |what: String, label: &str| source.error_at(span.clone(), what, label);
    let mut verbs = verbs(&file, span, source)?;
    let (name, verb) = match (verbs.pop(), verbs.pop()) {
        (Some(only), None) => only,
        (None, _) => {
            return Err(at("a step without a verb".to_owned(), "expected exactly one verb").with_help(
                "verbs: edit, write, check, read, close, delete, late, wait, gate, kill, cancel, await, message",
            ));
        }
        (Some((second, _)), Some((first, _))) => {
            let what = format!("a step with more than one verb: `{first}` and `{second}`");
            return Err(at(what, "expected exactly one verb").with_help("write one [[step]] for each"));
        }
    };
    let answered = matches!(verb, Verb::Edit(_) | Verb::Check(_));
    if file.start.is_some() && !answered {
        return Err(at(format!("`start` beside `{name}`"), "expected it beside `edit` or `check`"));
    }
    let awaited = answered && file.start.is_none() || matches!(verb, Verb::Await(_) | Verb::Late);
    if file.expect.is_some() && !awaited {
        let help = "of a call that is started, expect something where it is awaited";
        return Err(at(format!("`{name}` has no answer here"), "expected no `expect`").with_help(help));
    }
    let line = source.text()[..span.start.min(source.text().len())].matches('\n').count() + 1;
    Ok(Step { verb, start: file.start, expect: file.expect.map(expect), line })
}

/// Every verb that the step has, in the order of the fields.
fn verbs(file: &StepFile, span: &Range<usize>, source: &Source) -> Result<Vec<(&'static str, Verb)>, ParseError> {
    let text = |text: &Option<TextFile>| text.as_ref().map(|text| file_text(text, span, source)).transpose();
    let path = |path: &Option<PathFile>| path.as_ref().map(|path| path.path.clone());
    let message = file.message.as_ref().map(|message| message_count(message, true, span, source)).transpose()?;
    let found = [
        ("edit", text(&file.edit)?.map(Verb::Edit)),
        ("write", text(&file.write)?.map(Verb::Write)),
        ("check", path(&file.check).map(Verb::Check)),
        ("read", path(&file.read).map(Verb::Read)),
        ("close", path(&file.close).map(Verb::Close)),
        ("delete", path(&file.delete).map(Verb::Delete)),
        ("late", file.late.map(|_| Verb::Late)),
        ("wait", file.wait.map(|wait| Verb::Wait(wait.get()))),
        ("gate", file.gate.clone().map(Verb::Gate)),
        ("kill", file.kill.clone().map(Verb::Kill)),
        ("cancel", file.cancel.clone().map(Verb::Cancel)),
        ("await", file.await_call.clone().map(Verb::Await)),
        ("message", message.map(Verb::Message)),
    ];
    Ok(found.into_iter().filter_map(|(name, verb)| verb.map(|verb| (name, verb))).collect())
}

fn file_text(file: &TextFile, span: &Range<usize>, source: &Source) -> Result<FileText, ParseError> {
    let relative = !file.path.is_empty() && file.path.split('/').all(|part| !matches!(part, "" | "." | ".."));
    if !relative {
        let what = format!("{:?} is not a path inside the workspace", file.path);
        return Err(source.error_at(span.clone(), what, "expected such as \"src/a.fake\""));
    }
    let times = file.repeat.map_or(1, u64::from);
    if times.saturating_mul(file.text.len() as u64) > TEXT_BYTES_MAX as u64 {
        let what = format!("a text over {TEXT_BYTES_MAX} bytes");
        return Err(source.error_at(span.clone(), what, "expected a shorter one"));
    }
    let middle: String = match file.repeat {
        None => file.text.clone(),
        Some(times) => (1..=times).map(|n| file.text.replace("{n}", &n.to_string())).collect(),
    };
    let text = format!("{}{middle}{}", file.head, file.tail);
    Ok(FileText { path: file.path.clone(), text })
}

fn message_count(
    file: &MessageFile,
    is_step: bool,
    span: &Range<usize>,
    source: &Source,
) -> Result<MessageCount, ParseError> {
    let at = |what: &str, label: &str| Err(source.error_at(span.clone(), what, label));
    let (count_min, count_max) = match (file.count, file.at_least, file.at_most) {
        (Some(count), None, None) => (count, if is_step { None } else { Some(count) }),
        (None, Some(min), max) => (min, max),
        (None, None, Some(max)) => (0, Some(max)),
        (None, None, None) => return at("no number of messages", "expected `count`, `at_least` or `at_most`"),
        (Some(_), ..) => return at("`count` beside a bound", "expected either of them"),
    };
    if count_max.is_some_and(|max| max < count_min) {
        return at("`at_least` is more than `at_most`", "expected the smaller number first");
    }
    if is_step && count_max.is_some() {
        return at("a step cannot wait for `at_most`", "expected it in the scenario's `expect`");
    }
    Ok(MessageCount { method: file.method.clone(), dir: file.dir, count_min, count_max })
}

fn run_expect(file: RunExpectFile, source: &Source) -> Result<RunExpect, ParseError> {
    let messages = file
        .messages
        .iter()
        .map(|found| message_count(found.get_ref(), false, &found.span(), source))
        .collect::<Result<_, _>>()?;
    Ok(RunExpect { starts: file.starts, messages })
}

fn expect(file: ExpectFile) -> Expect {
    Expect {
        conclusion: file.conclusion.0,
        codes: file.codes,
        warnings: file.warnings,
        not_codes: file.not_codes,
        known_by: file.known_by,
        waited: file.waited,
        told_before: file.told_before,
        complete: file.complete,
        reason: file.reason.0,
        note: file.note,
        notes_max: file.notes_max,
        text_has: file.text_has.0,
        text_lacks: file.text_lacks.0,
        more: file.more,
        lines_max: file.lines_max,
        position: file.position.map(|[line, column]| (line, column)),
        refused: file.refused.is_some(),
    }
}

impl Direction {
    /// The direction on the wire.
    #[must_use]
    pub fn on_the_wire(self) -> wire::trace::Direction {
        match self {
            Self::ToServer => wire::trace::Direction::ToServer,
            Self::ToClient => wire::trace::Direction::ToClient,
        }
    }
}
