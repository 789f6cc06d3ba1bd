//! The real world: processes and pipes.
