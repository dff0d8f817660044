"""The bundled servers, as a program that `forked_server.py` runs."""

from __future__ import annotations

import sys

from tui_host.demo.servers import __main__ as bundled


def main() -> None:
    sys.exit(bundled.main(sys.argv[1:]))
