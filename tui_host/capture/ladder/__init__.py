"""Fold records into the rows of the inspector."""
