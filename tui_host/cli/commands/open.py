"""`open`: opens files captured elsewhere in the app. `__main__` runs it, because no command knows the app."""

from __future__ import annotations

from tui_host.cli import options


def add(parser: options.CommandParser) -> None:
    """Add the files."""
    parser.description = "Open files captured elsewhere in the app. Nothing is stored."
    options.files(parser, "file to open")
