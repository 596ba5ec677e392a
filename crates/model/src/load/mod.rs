//! From a file to a model: reading, checking, building.
