//! What a language server owes a loop, checked.
