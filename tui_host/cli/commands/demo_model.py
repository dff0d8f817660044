"""`demo-model`: runs the demo model, which parses its own words, as a server."""

from __future__ import annotations

import gc
from argparse import Namespace

from tui_host.cli import options


def add(parser: options.CommandParser) -> None:
    """Add nothing: its help is the demo model's own."""
    del parser


def run(args: Namespace, _: object) -> int:
    """Serve until a signal."""
    from tui_host.demo.model.__main__ import main as serve

    gc.enable()
    return serve(args.words)
