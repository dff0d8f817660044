"""Configuration files of other hosts. No other code reads or writes these files."""
