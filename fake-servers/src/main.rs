//! The `fake-lsp` command.
fn main() {}
