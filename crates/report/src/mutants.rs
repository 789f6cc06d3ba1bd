//! The faces of the table of mutants: which check caught which loop that was broken on purpose. For
//! people two tables and a verdict, for machines the same as JSON.

use anstyle::{AnsiColor, Style};
use assay::mutants::{Catches, Mutant, MutantTable};
use assay::results::RESULTS_VERSION;
use comfy_table::{Cell, Color, ContentArrangement, Table, presets};
use serde::Serialize;

use crate::style::{FAINT, HEADING, styled, visible};

/// The table with what a reader needs to know about its origin, for [`crate::json`] and [`crate::save`].
#[derive(Debug, Serialize)]
pub struct MutantResults<'a> {
    /// Version of the format.
    pub format: u32,
    /// `lsp-assay`.
    pub tool: &'static str,
    /// The version of the tool.
    pub version: &'static str,
    /// `mutants`.
    pub command: &'static str,
    /// The table.
    #[serde(flatten)]
    pub table: &'a MutantTable,
    /// Mutants that no check of their own law caught.
    pub survivors: Vec<&'a str>,
    /// Checks that caught none.
    pub idle: Vec<&'a str>,
}

impl<'a> MutantResults<'a> {
    /// Of a table.
    #[must_use]
    pub fn new(table: &'a MutantTable) -> Self {
        Self {
            format: RESULTS_VERSION,
            tool: "lsp-assay",
            version: env!("CARGO_PKG_VERSION"),
            command: "mutants",
            table,
            survivors: table.survivors().map(|mutant| mutant.name).collect(),
            idle: table.idle().map(|check| check.id.as_str()).collect(),
        }
    }
}

/// The table as text for people, `width` columns wide.
#[must_use]
pub fn mutants(results: &MutantResults<'_>, width: u16) -> String {
    let MutantResults { tool, command, version, table, .. } = results;
    let mut text = format!(
        "{} {}\n",
        styled(HEADING, format_args!("{tool} {command}")),
        styled(
            FAINT,
            format_args!("{version} · the reference loop, broken in one way at a time · seed {}", table.seed)
        ),
    );
    text += &format!("\n{}\n{}\n", styled(HEADING, "mutants"), of_mutants(&table.mutants, width));
    text += &format!("\n{}\n{}\n", styled(HEADING, "checks"), of_checks(&table.checks, width));
    text += &verdict(results);
    text
}

fn of_mutants(mutants: &[Mutant], width: u16) -> Table {
    let mut table = empty(width);
    for mutant in mutants {
        let own = |id: &&String| id.split('/').next() == Some(mutant.law);
        let (own, others): (Vec<&String>, Vec<&String>) = mutant.caught_by.keys().partition(own);
        let by = match own[..] {
            [] if others.is_empty() => mutant.summary.to_owned(),
            [] => format!("{}; only checks of other laws caught it: {}", mutant.summary, joined(&others)),
            _ => without_law(&own),
        };
        table.add_row([
            Cell::new(mutant.name),
            Cell::new(mutant.law),
            outcome(mutant.is_caught(), "caught", "survived"),
            Cell::new(by),
        ]);
    }
    table
}

fn of_checks(checks: &[Catches], width: u16) -> Table {
    let mut table = empty(width);
    for check in checks {
        let catches = outcome(!check.mutants.is_empty(), "catches", "idle");
        table.add_row([Cell::new(visible(&check.id)), catches, Cell::new(check.mutants.join(", "))]);
    }
    table
}

fn verdict(results: &MutantResults<'_>) -> String {
    let MutantResults { table, survivors, idle, .. } = results;
    let (mutants, checks) = (table.mutants.len(), table.checks.len());
    let part = |missing: usize, of: usize, what: &str| {
        let colour = if missing == 0 { AnsiColor::Green } else { AnsiColor::Red };
        styled(Style::new().fg_color(Some(colour.into())), format_args!("{} of {of} {what}", of - missing))
    };
    let mut text = format!(
        "\n{}, {}\n",
        part(survivors.len(), mutants, "mutants are caught by a check of their own law"),
        part(idle.len(), checks, "checks catch a mutant"),
    );
    if !table.reference_fails.is_empty() {
        let fails = visible(&table.reference_fails.join(", "));
        text += &format!("nothing is proven while the reference loop itself fails: {fails}\n");
    }
    text
}

fn empty(width: u16) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_BORDERS_ONLY).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(width).enforce_styling();
    table
}

fn outcome(good: bool, yes: &str, no: &str) -> Cell {
    if good { Cell::new(yes).fg(Color::Green) } else { Cell::new(no).fg(Color::Red) }
}

/// The checks of one law, which stands beside them already.
fn without_law(ids: &[&String]) -> String {
    let names = ids.iter().map(|id| visible(id.split_once('/').map_or(id.as_str(), |(_, name)| name)));
    names.collect::<Vec<_>>().join(", ")
}

fn joined(ids: &[&String]) -> String {
    ids.iter().map(|id| visible(id)).collect::<Vec<_>>().join(", ")
}
