"""Lends the terminal to the person's editor, for the text of the prompt. Turns and servers go on meanwhile."""

from __future__ import annotations

import asyncio
import shlex
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tui_host.errors import TuiHostError

if TYPE_CHECKING:
    from textual.app import App

    from tui_host.guard.guard_client import Guard


async def edited(app: App[int], guard: Guard | None, environment: Mapping[str, str], text: str) -> str:
    """Return a text as it was saved in $VISUAL, else $EDITOR. Raises TuiHostError with why there is no new text."""
    name = "VISUAL" if environment.get("VISUAL", "").strip() else "EDITOR"
    try:
        command = shlex.split(environment.get(name, ""))
    except ValueError as error:
        raise TuiHostError(f"it cannot be read: {error}", name, "close its quotes") from error
    if not command:
        raise TuiHostError("neither VISUAL nor EDITOR is set", remedy='export EDITOR=vim, or EDITOR="code --wait"')
    with tempfile.TemporaryDirectory(prefix="tui-host-") as folder:  # mode 0700: a prompt may hold secrets
        path = Path(folder, "prompt").with_suffix(".md")
        path.write_text(text, encoding="utf-8")
        code = await _run(app, guard, [*command, str(path)], name)
        if code:
            raise TuiHostError(f"{command[0]} ended with {code}, so the prompt stays as it was")
        try:
            return path.read_text(encoding="utf-8").rstrip("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise TuiHostError(f"what {command[0]} saved cannot be read: {error}") from error


async def _run(app: App[int], guard: Guard | None, command: Sequence[str], name: str) -> int:
    """Run a command on the terminal, and return its exit code."""
    process, reason = None, ""
    if guard is not None:
        guard.leave()
    try:
        with nullcontext() if app.is_headless else app.suspend():  # which an exception leaves without coming back
            try:
                process = await asyncio.create_subprocess_exec(*command)
                await process.wait()
            except OSError as error:
                reason = error.strerror or str(error)
    except asyncio.CancelledError:  # the app ends
        if process is not None:
            with suppress(ProcessLookupError):
                process.terminate()
        raise
    if guard is not None:
        guard.draw()
    if process is None or process.returncode is None:
        raise TuiHostError(f"{command[0]} cannot be started: {reason}", name)
    return process.returncode
