"""The bundled servers, as a program that `forked_server.py` runs."""

from __future__ import annotations

import sys

from tui_host.demo.servers import serve_bundled


def main() -> None:
    sys.exit(serve_bundled.main(sys.argv[1:]))
