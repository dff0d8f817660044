"""What a lower layer loads, seen in a fresh interpreter: no contract sees that."""

import ast
import subprocess
import sys
from pathlib import Path

import tui_host

OURS = Path(tui_host.__file__).parent
COMMANDS = sorted((OURS / "cli/commands").glob("[a-z]*.py"))
LIGHT = (
    "tui_host.settings.load",
    "tui_host.capture.record",
    "tui_host.capture.recorder",
    "tui_host.capture.store.store",
    "tui_host.chat.session",
    "tui_host.chat.policy",
    "tui_host.host.host",
    "tui_host.cli.arguments",
    "tui_host.tui.run_app",  # refuses a terminal that it cannot draw on at once
    *(f"tui_host.cli.commands.{path.stem}" for path in COMMANDS),  # for their help
)
HEAVY = "mcp mcp_types httpx httpx2 pydantic anyio textual rich starlette uvicorn backports keyring"


LOAD = """
import sys
for name in sys.argv[1:]:
    __import__(name)
    print(name, *({HEAVY} & sys.modules.keys()))
"""


def test_what_is_needed_before_the_first_frame_loads_nothing_heavy() -> None:
    command = [sys.executable, "-c", LOAD.format(HEAVY=set(HEAVY.split())), *LIGHT]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines() == list(LIGHT)


LOADED_ALONE = {"tui_host.capture.exports", "tui_host.opening"}
"""Packages that are loaded in one thread, when a command or a process needs them."""


def imported_by(file: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{each.name}" for each in node.names)}
    return found


def test_no_package_imports_its_own_modules() -> None:
    """The app imports in several threads: one in a package that waits for its module, and one in the module that waits for its package."""
    # CPython ends one of them with an error, and the app with it. Source: CPython, issue 83065.
    for file in OURS.rglob("__init__.py"):
        package = ".".join(file.parent.relative_to(OURS.parent).parts)
        own = {name for name in imported_by(file) if name.startswith(f"{package}.")}
        assert package in LOADED_ALONE or not own, (package, own)
