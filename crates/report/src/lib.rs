//! One result model, many faces: each takes [`assay::results::Results`] (or a table of mutants) and gives
//! the text of one form. Nothing here judges, and nothing here prints: a face is a function to a string.

mod json;
#[cfg(feature = "mutants")]
mod mutants;
mod style;
mod terminal;
mod timeline;

pub use json::{RESULTS_FILE, json, save};
#[cfg(feature = "mutants")]
pub use mutants::{MutantResults, mutants};
pub use terminal::terminal;
