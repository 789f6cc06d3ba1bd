//! The `fake-lsp` command: everything it does is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    fake_lsp::run::main(std::env::args_os())
}
