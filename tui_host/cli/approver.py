"""How the person is asked on a terminal without the app."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import anyio
import anyio.to_thread

from tui_host.capture.visible import visible
from tui_host.chat.arguments import pretty, read_arguments
from tui_host.chat.policy import Question


class TerminalApprover:
    """Asks on standard error and reads standard input; only made where both are terminals."""

    async def decide(self, questions: Sequence[Question]) -> None:
        """One question after the other."""
        for number, question in enumerate(questions, start=1):
            self._show(question, number, len(questions))
            while question.open:
                words = await anyio.to_thread.run_sync(self._read, abandon_on_cancel=True)
                if words is None:
                    return
                self._take(question, words.strip())

    @staticmethod
    def _show(question: Question, number: int, count: int) -> None:
        request = question.request
        title = f"Approve {request.tool.server}.{request.tool.name}? ({number} of {count})"
        arguments = visible(pretty(read_arguments(request.arguments.decode())))
        lines = [title, *(f"  | {line}" for line in arguments.splitlines())]
        if request.tool.description:
            lines.append(f"  the server says: {visible(request.tool.description, newlines=False)[:300]}")
        sys.stderr.write("\n".join(lines) + "\n")

    @staticmethod
    def _read() -> str | None:
        sys.stderr.write("  y once, n no, n REASON no because: ")
        sys.stderr.flush()
        line = sys.stdin.readline()
        return line or None

    @staticmethod
    def _take(question: Question, words: str) -> None:
        verb, _, reason = words.partition(" ")
        if verb in {"y", "yes", "a"} and not reason:
            question.approve()
        elif verb in {"n", "no", "r"}:
            question.reject(reason.strip())
