//! How many feedback calls the simulated world carries: the reference loop and a fake server, bytes and
//! all, without a judge. Every answer is compared with the truth: a fast wrong answer is a failure.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use feedback::{Answer, CallId, Conclusion, Request};
use scenario::Script;

use super::engine::{Engine, Program};
use super::{ROOT, program_path, reference};
use crate::protocol::{self, PROTOCOL_VERSION, Start};
use crate::world::HarnessError;

/// What a run has carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// Feedback calls that were answered rightly.
    pub calls: u64,
    /// How many of them had errors to tell.
    pub with_errors: u64,
    /// Virtual time that passed.
    pub virtual_time: Duration,
}

/// Edits one file `calls` times, alternating between a text with one error and one without.
///
/// # Errors
/// When an answer is not the truth, or does not come.
pub fn throughput(script: &Arc<Script>, seed: u64, calls: u64) -> Result<Carried, HarnessError> {
    let program = Program { server: "fake".to_owned(), script: Arc::clone(script) };
    let mut engine = Engine::new(seed, BTreeMap::from([(program_path("fake"), program)]));
    engine.begin(reference(protocol::reference::config(&start(), None)));
    let file = Path::new(ROOT).join("a.fake");
    let mut carried = Carried::default();
    for number in 0..calls {
        let broken = number % 2 == 1;
        engine.files.insert(file.clone(), text(number, broken).into_bytes());
        let call = CallId(number);
        engine.call(call, Request::Check { path: file.clone() });
        let limit = engine.now().after(Duration::from_secs(1));
        engine.run(limit, &mut |engine| engine.answers.contains_key(&call))?;
        let answer = engine.answers.remove(&call).map(|(_, answer)| answer);
        is_right(answer.as_ref(), broken).map_err(|wrong| HarnessError::new(format!("call {number}: {wrong}")))?;
        carried.calls += 1;
        carried.with_errors += u64::from(broken);
        // Nobody reads the traces here, and they would grow without end.
        engine.instances.iter_mut().for_each(|instance| instance.lines.clear());
    }
    carried.virtual_time = engine.now().since(wire::Time::ZERO);
    Ok(carried)
}

fn start() -> Start {
    let server = protocol::Server {
        name: "fake".to_owned(),
        command: vec![program_path("fake").display().to_string()],
        extensions: vec![".fake".to_owned()],
        language_id: "fake".to_owned(),
        settings: serde_json::Value::Null,
        initialization_options: serde_json::Value::Null,
        required: true,
    };
    Start {
        protocol: PROTOCOL_VERSION,
        root: ROOT.to_owned(),
        budget_ms: 400,
        initialize_budget_ms: Some(1_000),
        first_budget_ms: None,
        servers: vec![server],
    }
}

/// A text of a few lines, each time another one.
fn text(number: u64, broken: bool) -> String {
    let middle = if broken { "ERROR E1 boom" } else { "all is well" };
    format!("first line\nsecond line, {number}\n{middle}\nlast line\n")
}

fn is_right(answer: Option<&Answer>, broken: bool) -> Result<(), String> {
    let Some(Answer::Report(report)) = answer else { return Err(format!("no report: {answer:?}")) };
    let wanted = if broken { (Conclusion::Errors, 1) } else { (Conclusion::Clean, 0) };
    let got = (report.conclusion, report.counts.errors);
    if got == wanted { Ok(()) } else { Err(format!("{got:?}, expected {wanted:?}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_is_answered_rightly() {
        for name in ["push", "pull"] {
            let script = Arc::new(fake_lsp::load(name).unwrap());
            let carried = throughput(&script, 3, 200).unwrap();
            assert_eq!((carried.calls, carried.with_errors), (200, 100), "{name}");
        }
    }
}
