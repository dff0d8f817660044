"""The options of `sessions export`."""

from __future__ import annotations

import argparse

from tui_host.cli.shared_options import path_of

FORMATS = ("jsonl", "har", "curl", "markdown", "mermaid", "raw")
FORMATS_IN_WORDS = """\
The formats:
  jsonl     every record with its exact bytes, a JSON object on each line; `sessions import` reads it
  har       the HTTP exchanges of both lanes as an archive for browsers and proxies (HAR 1.2)
  curl      a shell script with each request to a model; credentials come from the environment
  markdown  the conversation, and under each step its requests, responses and frames
  mermaid   a sequence diagram
  raw       the bytes of bodies and frames, nothing added"""


def export_options(exported: argparse.ArgumentParser) -> None:
    """Add the options: what to export, in which format, and where to."""
    exported.epilog = FORMATS_IN_WORDS
    exported.add_argument("--turn", type=int, metavar="N", help="only this turn")
    exported.add_argument(
        "--call", dest="of_call", metavar="ID", help="only this call: 2.1.3 is the third call of step 1 of turn 2"
    )
    exported.add_argument("--format", choices=FORMATS, default="jsonl", help="the form: jsonl without this option")
    exported.add_argument(
        "-o", "--output", type=path_of, metavar="FILE", help="the file to write; - is standard output"
    )
