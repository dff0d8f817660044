"""The dialects, one folder each; `table` lists them."""
