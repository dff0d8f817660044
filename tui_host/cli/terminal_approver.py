"""Asks the user on a terminal to approve calls, without the app."""

from __future__ import annotations

import os
import sys
import termios
from collections.abc import Callable, Sequence

import anyio

from tui_host.capture.visible import line, tool_name, visible
from tui_host.chat.call_arguments import pretty, read_arguments
from tui_host.chat.policy import CallRequest, Question, StepLimit
from tui_host.cli import diagnostics
from tui_host.servers.catalog import claims_of

DESCRIPTION = 600
"""Largest number of characters of a server's description to show."""


def can_ask() -> bool:
    """Whether standard input and standard error are both terminals."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


class TerminalApprover:
    """Asks on standard error and reads standard input, both terminals. `redacted` removes secrets from shown text."""

    def __init__(self, redacted: Callable[[str], str]) -> None:
        self._redacted = redacted

    async def decide(self, questions: Sequence[Question]) -> None:
        """Ask the questions one after the other. At the end of the input, open questions stay undecided."""
        for number, question in enumerate(questions, start=1):
            # Keys typed before the question do not count as its answer.
            termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
            self._show(question.request, f"({number} of {len(questions)})" if len(questions) > 1 else "")
            question.appear()
            while question.open:
                words = await self._read()
                if words is None:
                    diagnostics.write("\n")
                    return
                self._take(question, words.strip())

    async def decide_limit(self, limit: StepLimit) -> None:
        """Return at once: `ask` ends at its limit of steps, which `--max-steps` sets."""

    def _show(self, request: CallRequest, count: str) -> None:
        tool = request.tool
        lines = [f"Approve {tool_name(tool.server, tool.name)}? {count}".rstrip()]
        arguments = visible(self._redacted(pretty(read_arguments(request.arguments.decode()))))
        lines += [f"  | {row}" for row in arguments.split("\n")]
        if request.changed:
            lines.append(f"  changed since it was last approved: {visible(request.changed, newlines=False)}")
        if tool.description:
            lines.append(f"  described by the server: {line(self._redacted(tool.description), DESCRIPTION)}")
        if claims := claims_of(tool):
            lines.append(f"  server claims: {claims}")
        diagnostics.write("\n".join(lines) + "\n")

    @staticmethod
    async def _read() -> str | None:
        """Read a line from the terminal, None at the end of the input. Uses no thread, so that a signal can end the wait."""
        diagnostics.write("  y approve once, n reject, n REASON reject with a reason: ")
        try:
            await anyio.wait_readable(sys.stdin.fileno())
        except anyio.get_cancelled_exc_class():
            diagnostics.write("\n")  # the next message begins on a new line
            raise
        data = os.read(sys.stdin.fileno(), 1 << 16)
        return data.decode(errors="replace") if data else None

    @staticmethod
    def _take(question: Question, words: str) -> None:
        verb, _, reason = words.partition(" ")
        if verb.lower() in {"y", "yes"} and not reason:
            question.approve()
        elif verb.lower() in {"n", "no"}:
            question.reject(reason.strip())
