"""Reads files that other programs captured, and turns them into records: a module or folder for each format."""
