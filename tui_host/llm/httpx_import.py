"""Imports httpx as it is where its command line is not installed: that brings click and a part of rich, 3 MiB, for nothing."""

from __future__ import annotations

import sys
from importlib import import_module

COMMAND_LINE = "httpx._main"


def import_httpx() -> None:
    """Call it, in a thread, before anything imports httpx."""
    if "httpx" in sys.modules:
        return
    sys.modules[COMMAND_LINE] = None  # pyright: ignore[reportArgumentType] - the import system's word for what is not there
    try:
        import_module("httpx")
    finally:
        del sys.modules[COMMAND_LINE]
