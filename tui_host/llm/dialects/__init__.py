"""The dialects, one module each; `by_name` has them all. This one imports none: see `tests/architecture`."""
