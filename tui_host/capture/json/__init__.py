"""Reading foreign JSON: large files, tolerant parsing, positions of values, and narrowing to types."""
