"""What a lower layer loads, seen in a fresh interpreter: no contract sees that."""

from __future__ import annotations

import subprocess
import sys

import pytest

LIGHT = (
    "tui_host.settings.load",
    "tui_host.capture.record",
    "tui_host.capture.recorder",
    "tui_host.capture.store.store",
    "tui_host.chat.session",
    "tui_host.chat.policy",
    "tui_host.host.host",
    "tui_host.cli.arguments",
    "tui_host.tui.run",  # refuses a terminal that it cannot draw on at once
)
HEAVY = (
    "mcp",
    "mcp_types",
    "httpx",
    "httpx2",
    "pydantic",
    "anyio",
    "textual",
    "rich",
    "starlette",
    "uvicorn",
    "backports",
)


@pytest.mark.parametrize("module", LIGHT)
def test_what_is_needed_before_the_first_frame_loads_nothing_heavy(module: str) -> None:
    code = f"import sys, {module}; print(*(name for name in {HEAVY!r} if name in sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == ""
