"""Exports of sessions, one module per format. They contain only records from which secrets were removed."""
