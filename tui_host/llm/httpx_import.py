"""Imports httpx without its command line, to save 3 MiB of click and rich. The import happens late."""

from __future__ import annotations

import sys
from importlib import import_module

COMMAND_LINE = "httpx._main"


def import_httpx() -> None:
    """Import httpx, in a thread, before any module does."""
    if "httpx" in sys.modules:
        return
    sys.modules[COMMAND_LINE] = None  # pyright: ignore[reportArgumentType] - the import system's word for what is not there
    try:
        import_module("httpx")
    finally:
        del sys.modules[COMMAND_LINE]
