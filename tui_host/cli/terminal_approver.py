"""How the person is asked on a terminal without the app."""

from __future__ import annotations

import os
import sys
import termios
from collections.abc import Callable, Sequence

import anyio

from tui_host.capture.visible import line, tool_name, visible
from tui_host.chat.call_arguments import pretty, read_arguments
from tui_host.chat.policy import CallRequest, Question
from tui_host.cli import diagnostics

DESCRIPTION = 600
"""Characters of a server's description that are shown."""


def can_ask() -> bool:
    """Whether somebody sits there: standard input and standard error are terminals."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


class TerminalApprover:
    """Asks on standard error and reads standard input; only made where both are terminals.

    Args:
        redacted: Takes secrets out of what is shown.
    """

    def __init__(self, redacted: Callable[[str], str]) -> None:
        self._redacted = redacted

    async def decide(self, questions: Sequence[Question]) -> None:
        """One question after the other; the end of the input leaves what is open undecided."""
        for number, question in enumerate(questions, start=1):
            # What was typed before the question stood there does not answer it.
            termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
            self._show(question.request, f"({number} of {len(questions)})" if len(questions) > 1 else "")
            while question.open:
                words = await self._read()
                if words is None:
                    diagnostics.write("\n")
                    return
                self._take(question, words.strip())

    def _show(self, request: CallRequest, count: str) -> None:
        tool = request.tool
        lines = [f"Approve {tool_name(tool.server, tool.name)}? {count}".rstrip()]
        arguments = visible(self._redacted(pretty(read_arguments(request.arguments.decode()))))
        lines += [f"  | {row}" for row in arguments.split("\n")]
        if request.changed:
            lines.append(f"  changed since it was last approved: {visible(request.changed, newlines=False)}")
        if tool.description:
            lines.append(f"  the server says: {line(self._redacted(tool.description), DESCRIPTION)}")
        if tool.annotations:
            claims = ", ".join(f"{name}={value}" for name, value in tool.annotations)
            lines.append(f"  the server claims: {line(self._redacted(claims), DESCRIPTION)}")
        diagnostics.write("\n".join(lines) + "\n")

    @staticmethod
    async def _read() -> str | None:
        """One line from the terminal, None at the end of the input. No thread: a signal must be able to end the wait."""
        diagnostics.write("  y once, n no, n REASON no because: ")
        try:
            await anyio.wait_readable(sys.stdin.fileno())
        except anyio.get_cancelled_exc_class():
            diagnostics.write("\n")  # what is written next, by whomever, begins a line
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
