//! How long feedback takes, cold and warm.
