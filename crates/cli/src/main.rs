//! The `lsp-assay` command.
fn main() {}
