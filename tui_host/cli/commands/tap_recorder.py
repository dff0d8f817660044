"""`tap-recorder`: the process that records beside a tap. Taps start it; no help lists it."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping

from tui_host.cli import options


def add(_parser: options.CommandParser) -> None:
    """Add nothing: the words are the relay's."""


def run(args: Namespace, _environment: Mapping[str, str]) -> int:
    """Record until the relay has ended."""
    from tui_host.cli.tap_log import PlainLines
    from tui_host.infer.tap_facts import TapFacts
    from tui_host.tap.recorder import record

    record(args.server, plain=PlainLines, learn=lambda text: TapFacts(text).feed)
