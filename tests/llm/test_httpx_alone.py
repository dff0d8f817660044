"""What is imported with httpx, seen in a fresh interpreter."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import sys
from tui_host.llm.httpx_import import import_httpx
import_httpx()
import tui_host.llm.model_client
print(*sorted({"click", "rich"} & set(sys.modules)))
import_httpx()
import httpx._main
print(tui_host.llm.model_client.httpx.AsyncClient.__name__, "click" in sys.modules)
"""


def test_httpx_comes_without_its_command_line_which_can_still_be_had() -> None:
    run = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == ["", "AsyncClient True"]
