"""What stands in a detail, made from a row's bytes a piece at a time; no widget here."""
