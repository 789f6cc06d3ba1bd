//! The simulated world: discrete events, a virtual clock, bytes through bounded pipes.
