//! The scenario and script formats.
