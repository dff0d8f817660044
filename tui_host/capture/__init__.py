"""Captured bytes: the records, their store, and the exchanges, frames, rows and chains made from records."""
