"""Captured bytes: records, the store for records, and everything folded out of records."""
