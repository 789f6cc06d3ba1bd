//! Economy: nothing is said twice.

use std::collections::BTreeSet;

use super::seen::{at, place};
use super::{Looked, Sheet};
use crate::protocol::Finding;
use crate::results::Law;

pub(super) fn judge(sheet: &mut Sheet<'_, '_>) {
    let run = sheet.run;
    let mut looked = Looked::default();
    for call in &run.calls {
        let Some(findings) = call.feedback().and_then(|(_, feedback)| feedback.findings.as_deref()) else { continue };
        if !findings.is_empty() {
            looked.at(doubled(findings).map(|double| format!("{}: {double} is told twice", at(run, call))));
        }
    }
    let mut told_late = BTreeSet::new();
    for late in &run.late {
        for told in &late.told {
            let key = (told.path.clone(), told.text.clone());
            looked.holds(told_late.insert(key), || {
                format!("{}: told late again: {:?}", place(run, late.step), told.text.as_deref().unwrap_or_default())
            });
        }
    }
    sheet.check(Law::Economy, "economy/no-duplicates", "nothing is said twice", looked);
}

fn doubled(findings: &[Finding]) -> Option<String> {
    let mut seen = BTreeSet::new();
    findings
        .iter()
        .find(|finding| !seen.insert((&finding.path, finding.line, finding.column, &finding.code, &finding.message)))
        .map(|finding| format!("{}:{}:{} {}", finding.path, finding.line, finding.column, finding.message))
}
