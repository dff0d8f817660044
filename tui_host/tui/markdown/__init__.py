"""Markdown as lines: source to strips of one width, block by block, within a time budget."""
