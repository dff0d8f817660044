"""Markdown as strips of one width, drawn block by block within a time budget."""
