"""Draws Markdown as lines of one width, block by block within a time limit."""
