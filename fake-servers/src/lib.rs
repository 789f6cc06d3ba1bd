//! Scriptable fake language servers.
