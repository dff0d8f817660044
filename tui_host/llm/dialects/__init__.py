"""The dialects, one folder each; `dialect_table` lists them."""
