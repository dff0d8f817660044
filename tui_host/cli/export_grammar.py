"""The options of `sessions export`."""

from __future__ import annotations

import argparse

from tui_host.capture.exports.format_names import FORMATS
from tui_host.cli.shared_options import path_of


def export_options(exported: argparse.ArgumentParser) -> None:
    """Add the options: what to export, in which format, and where to."""
    lines = (f"  {name:<10}{form.words}" for name, form in FORMATS.items())
    exported.epilog = "\n".join(("The formats:", *lines))
    exported.add_argument("--turn", type=int, metavar="N", help="only this turn")
    exported.add_argument(
        "--call", dest="of_call", metavar="ID", help="only this call: 2.1.3 is the third call of step 1 of turn 2"
    )
    exported.add_argument("--marked", action="store_true", help="only the rows marked with m in the app")
    exported.add_argument(
        "--format", choices=tuple(FORMATS), default="jsonl", help="the form: jsonl without this option"
    )
    exported.add_argument(
        "-o", "--output", type=path_of, metavar="FILE", help="the file to write; - is standard output"
    )
