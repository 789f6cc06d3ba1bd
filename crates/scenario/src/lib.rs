//! The formats that people write: scripts of fake servers, and scenarios. Types, a parser whose errors
//! point at the place, and the JSON Schemas that editors use. Nothing here runs a script or a scenario.

pub mod error;
pub mod scenario;
pub mod script;
pub mod value;

pub use error::{ParseError, Source, parse_toml, text_of};
pub use scenario::*;
pub use script::{Script, ScriptFile, script_schema};
pub use value::{Duration, DurationRange};
