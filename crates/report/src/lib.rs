//! One result model, many faces.
