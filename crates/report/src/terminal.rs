//! The face for people at a terminal: a table per law, then what did not hold as
//! timelines, then one line of sums. Colours are ANSI sequences; whoever prints strips them where they don't belong.

use std::collections::BTreeMap;

use anstyle::Style;
use assay::results::{Check, Law, Results, Status, Summary};
use comfy_table::{Cell, ColumnConstraint, ContentArrangement, Table, Width, presets};
use serde_json::Value;

use crate::style::{FAINT, HEADING, colour, styled, table_colour, visible, word};
use crate::timeline::timeline;

/// Columns of space around a cell.
const PADDING: usize = 2;
/// Nested facts beyond this depth are shown as JSON.
const FACT_DEPTH_MAX: usize = 4;

/// Results as text for people, `width` columns wide.
#[must_use]
pub fn terminal(results: &Results, width: u16) -> String {
    let mut text = head(results);
    let tables = tables(&results.checks);
    let name_width = tables.values().flat_map(BTreeMap::keys).map(|name| name.chars().count()).max().unwrap_or(0);
    for (law, rows) in &tables {
        text += &format!("\n{}\n{}\n", styled(HEADING, law), table(rows, name_width, width));
    }
    let failures: Vec<&Check> = results.checks.iter().filter(|check| is_told(check.status)).collect();
    for checks in failures.chunk_by(|one, next| share_evidence(one, next)) {
        text += &format!("\n{}", timeline(checks));
    }
    text += &facts(&results.facts);
    text += &format!("\n{}\n", sums(&results.summary));
    text
}

fn head(results: &Results) -> String {
    let Results { tool, version, command, subject, seed, .. } = results;
    format!(
        "{} {}\n",
        styled(HEADING, format_args!("{tool} {command}")),
        styled(FAINT, format_args!("{version} · judged: {} · seed {seed}", visible(subject))),
    )
}

/// Whether two checks look at the same run.
fn share_evidence(one: &Check, other: &Check) -> bool {
    (&one.scenario, one.world, &one.evidence) == (&other.scenario, other.world, &other.evidence)
}

/// Whether a status is told at length.
fn is_told(status: Status) -> bool {
    matches!(status, Status::Failed | Status::Warned | Status::HarnessError)
}

/// The checks of one line of a table.
type Row<'a> = Vec<&'a Check>;

/// Rows by law. Scenarios are named `law/name` and give a row each; where a server was checked, every
/// check is a row.
fn tables(checks: &[Check]) -> BTreeMap<String, BTreeMap<String, Row<'_>>> {
    let mut tables: BTreeMap<String, BTreeMap<String, Row<'_>>> = BTreeMap::new();
    for check in checks {
        let (law, name) = scenario_of(check).unwrap_or_else(|| (check.law.to_string(), check.id.clone()));
        tables.entry(law).or_default().entry(visible(&name)).or_default().push(check);
    }
    tables
}

/// The law and the name of a check's scenario, if it ran in one.
fn scenario_of(check: &Check) -> Option<(String, String)> {
    let (law, name) = check.scenario.split_once('/')?;
    let is_law = serde_json::from_value::<Law>(Value::String(law.to_owned())).is_ok();
    is_law.then(|| (law.to_owned(), name.to_owned()))
}

/// One law's table. All tables share the widths of their first columns.
fn table(rows: &BTreeMap<String, Row<'_>>, name_width: usize, width: u16) -> String {
    let mut table = Table::new();
    table.load_style(presets::UTF8_BORDERS_ONLY).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(width).enforce_styling();
    for (name, checks) in rows {
        let worst = worst(checks);
        let status = Cell::new(word(worst)).fg(table_colour(worst));
        table.add_row([Cell::new(name), status, Cell::new(told(checks))]);
    }
    let at_least = |chars: usize| {
        let columns = u16::try_from(chars + PADDING).unwrap_or(u16::MAX).min(width / 2);
        ColumnConstraint::LowerBoundary(Width::Fixed(columns))
    };
    table.set_constraints([at_least(name_width), at_least(word(Status::NotApplicable).len())]);
    table.to_string()
}

/// The status that a row of checks has as a whole.
fn worst(checks: &[&Check]) -> Status {
    const FROM_WORST: [Status; 4] = [Status::HarnessError, Status::Failed, Status::Warned, Status::Passed];
    let has = |status: &Status| checks.iter().any(|check| check.status == *status);
    FROM_WORST.into_iter().find(has).unwrap_or(Status::NotApplicable)
}

/// What a row says: of one check of a server what was seen, of a scenario how many checks held.
fn told(checks: &[&Check]) -> String {
    if let [check] = checks
        && scenario_of(check).is_none()
    {
        return visible(&check.observed);
    }
    let sum = Summary::of(checks.iter().copied());
    let counted = |count: u64, what: &str| (count > 0).then(|| format!("{count} {what}"));
    let parts = [
        counted(sum.harness_error, "harness errors"),
        counted(sum.failed, "failed"),
        counted(sum.warned, "warned"),
        counted(sum.passed, "held"),
        counted(sum.not_applicable, "not applicable"),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Facts as one line each: `name: value`, nested ones indented.
fn facts(facts: &Value) -> String {
    let mut text = String::new();
    if let Value::Object(fields) = facts {
        text.push('\n');
        fields.iter().for_each(|(name, value)| fact(name, value, 0, &mut text));
    }
    text
}

fn fact(name: &str, value: &Value, depth: usize, text: &mut String) {
    let indent = "  ".repeat(depth);
    let name = styled(FAINT, visible(name));
    match value {
        Value::Object(fields) if depth < FACT_DEPTH_MAX => {
            *text += &format!("{indent}{name}\n");
            fields.iter().for_each(|(name, value)| fact(name, value, depth + 1, text));
        }
        Value::String(value) => *text += &format!("{indent}{name}  {}\n", visible(value)),
        value => *text += &format!("{indent}{name}  {value}\n"),
    }
}

fn sums(sum: &Summary) -> String {
    let part = |count: u64, status: Status| {
        let style = if count > 0 { Style::new().fg_color(Some(colour(status).into())) } else { FAINT };
        styled(style, format_args!("{count} {}", word(status)))
    };
    [
        part(sum.passed, Status::Passed),
        part(sum.failed, Status::Failed),
        part(sum.warned, Status::Warned),
        part(sum.not_applicable, Status::NotApplicable),
        part(sum.harness_error, Status::HarnessError),
    ]
    .join(", ")
}
