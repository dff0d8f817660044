"""`call`, `read` and `prompt`: a single request to a server, by the user's own consent. Recorded as a session, like `ask`."""

from __future__ import annotations

import base64
import binascii
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import anyio

from tui_host.chat.call_arguments import LIMIT, canonical, read_arguments
from tui_host.chat.direct_call import call_directly
from tui_host.cli import command_turn, diagnostics
from tui_host.cli import standard_output as output
from tui_host.cli.chosen_servers import chosen_servers, patience, settled
from tui_host.cli.command_host import running
from tui_host.cli.flag_answerer import FlagAnswerer, with_flags
from tui_host.cli.server_check import check_call
from tui_host.errors import JSON, ServerError, SettingsError, TuiHostError
from tui_host.host.host import Host
from tui_host.servers.catalog import READ
from tui_host.settings.mistakes import nearest

if TYPE_CHECKING:
    from tui_host.chat.session import Session
    from tui_host.cli.arguments import Arguments
    from tui_host.servers.catalog import Content, Progress, ServerStatus, Tool
    from tui_host.settings.schema import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """A server's answer.

    Attributes:
        content: The blocks to print; of a prompt, each block is preceded by its role.
        raw: The result as received.
        is_error: The server says that the tool failed.
        warning: What is odd about the result.
        output_errors: How the result differs from the tool's output schema; None if there is no schema, or nothing to check.
    """

    content: tuple[Content, ...]
    raw: JSON
    is_error: bool = False
    warning: str = ""
    output_errors: tuple[str, ...] | None = None


def request(arguments: Arguments, settings: Settings) -> int:
    """Send the request, print the answer, and return the exit code.

    Raises:
        SettingsError: The server is not configured, or the arguments are malformed.
        TuiHostError: The server could not be reached, or the request failed.
    """
    sent = _Request(arguments, settings)
    try:
        return anyio.run(sent.run)
    except TuiHostError as error:
        if arguments.json and not isinstance(error, SettingsError):
            sent.tell(None, error)
        raise


class _Request:
    """A request from the host's start to its end."""

    def __init__(self, arguments: Arguments, settings: Settings) -> None:
        name, *rest = arguments.words
        chosen_servers(settings.servers, (name,))
        least, most = {"call": (1, 2), "read": (1, 1), "prompt": (1, 100)}[arguments.command]
        if not least <= len(rest) <= most:
            form = {"call": "TOOL [JSON]", "read": "URI", "prompt": "NAME [KEY=VALUE…]"}[arguments.command]
            raise SettingsError(
                "wrong number of arguments", arguments.command, f"write tui-host {arguments.command} SERVER {form}"
            )
        self._arguments = arguments
        self._server, self._name, self._more = name, rest[0], rest[1:]
        self._sent = self._values()
        spec = replace(settings.servers[name], enabled=True)
        self._patience = patience(spec)
        only = replace(settings, servers={name: spec})
        self._host = Host(with_flags(only, arguments), source="ask", record=not arguments.no_record)
        self._host.answerer = FlagAnswerer(arguments, partial(command_turn.say, self._host))
        self._session: Session | None = None
        self._milliseconds: float | None = None

    def _values(self) -> dict[str, JSON]:
        """Return the arguments of the request."""
        if self._arguments.command == "read":
            return {"uri": self._name}
        if self._arguments.command == "prompt":
            return {**_pairs(self._more)}
        text = _standard_input() if self._more[:1] == ["-"] else "".join(self._more)
        try:
            return read_arguments(text)
        except TuiHostError as error:
            raise SettingsError(error.what, "call JSON", error.remedy or "write a JSON object") from error

    async def run(self) -> int:
        """Connect, send, print; returns the exit code."""
        host, answer = self._host, None
        async with running(host) as interruption:
            for notice in host.notices:
                diagnostics.tell(notice)
            (status,) = await settled(host, interruption, self._patience)
            if interruption.code is not None:
                return interruption.code
            if status.state != "ready":
                raise ServerError(f"not connected: {status.detail or status.state}", self._server, sent=False)
            self._session = host.sessions.new()
            self._session.is_direct = True
            with anyio.CancelScope() as scope:
                interruption.then(scope.cancel)
                answer = await self._timed(status)
            if interruption.code is None and answer is not None:
                self.tell(answer)
        for words in () if self._arguments.no_record else command_turn.unkept(host):
            command_turn.say(host, words)
        if interruption.code is not None:
            return interruption.code
        return diagnostics.DONE if answer is not None and not answer.is_error else diagnostics.FAILED

    async def _timed(self, status: ServerStatus) -> _Answer:
        began = time.perf_counter()
        try:
            return await (self._prompt() if self._arguments.command == "prompt" else self._call(status))
        finally:
            self._milliseconds = (time.perf_counter() - began) * 1000

    async def _call(self, status: ServerStatus) -> _Answer:
        """Call the tool, or read the resource."""
        host = self._host
        assert host.pool is not None  # noqa: S101 - there once the host is ready
        assert host.recorder is not None  # noqa: S101
        name = READ if self._arguments.command == "read" else self._name
        tool = next((tool for tool in (*host.pool.tools(), *status.tools) if tool.name == name), None)
        if tool is None and name == READ:
            raise ServerError("the server declares no resources", self._server, sent=False)
        if tool is None or tool.problem:
            names = [tool.name for tool in status.tools if not tool.problem]
            what = f"no tool {name}" if tool is None else f"{name} cannot be called: {tool.problem}"
            raise ServerError(what, self._server, nearest(name, names), sent=False)
        assert self._session is not None  # noqa: S101 - set just before
        try:
            result = await call_directly(
                host.pool, host.recorder, self._session, tool, canonical(self._sent), on_progress=self._progressed
            )
        finally:
            self._tell_asides(tool, before=status)
        is_checked = tool.output_schema is not None and not result.is_error
        findings = await check_call(tool, replace(result, warning=""), host.misfits) if is_checked else ()
        return _Answer(
            content=result.content,
            raw=result.raw,
            is_error=result.is_error,
            warning=result.warning,
            output_errors=tuple(finding.words for finding in findings) if is_checked else None,
        )

    def _tell_asides(self, tool: Tool, *, before: ServerStatus) -> None:
        """Say what the server did beside the answer: log messages, requests that were refused, a page for the tool."""
        assert self._host.pool is not None  # noqa: S101 - there once the host is ready
        (now,) = self._host.pool.statuses()
        unshown = sum(count for _, count in now.log_counts) - len(now.log)
        sentences = [f"{unshown:,} earlier log messages are not shown"] if unshown else []
        sentences += [
            f"log {entry.level}: {f'{entry.logger}: ' if entry.logger else ''}{entry.text}" for entry in now.log
        ]
        sentences += [f"{self._server}: {notice}" for notice in now.notices if notice not in before.notices]
        if tool.page:
            sentences.append(f"the tool has a page, which is not shown: tui-host read {self._server} {tool.page}")
        for words in sentences:
            command_turn.say(self._host, words)

    async def _prompt(self) -> _Answer:
        """Fill in the prompt."""
        pool, session = self._host.pool, self._session
        assert pool is not None  # noqa: S101 - there once the host is ready
        assert session is not None  # noqa: S101 - set just before
        session.begin_turn(" ".join(("prompt", self._server, self._name, *self._more)))
        place = session.place(step=1, call=f"direct_{session.turn}")
        filled = await pool.get_prompt(self._server, self._name, _pairs(self._more), place=place)
        blocks = (replace(sent.content, text=f"{sent.role}: {sent.content.text}") for sent in filled.messages)
        return _Answer(content=tuple(blocks), raw=filled.raw, warning=filled.warning)

    def _progressed(self, progress: Progress) -> None:
        of = f"/{progress.total:g}" if progress.total is not None else ""
        command_turn.say(self._host, f"{progress.progress:g}{of} {progress.message}".strip())

    def tell(self, answer: _Answer | None, error: TuiHostError | None = None) -> None:
        """Print the answer, or with `--json` one object that also tells of an error."""
        if self._arguments.json:
            name = {"call": "tool", "read": "uri", "prompt": "prompt"}[self._arguments.command]
            value: dict[str, JSON] = {
                "session": None if self._session is None or self._arguments.no_record else self._session.id,
                "server": self._server,
                name: self._name,
                "sent": self._sent,
                "result": None if answer is None else answer.raw,
                "is_error": None if answer is None else answer.is_error,
                "output_errors": None if answer is None or answer.output_errors is None else [*answer.output_errors],
                "ms": None if self._milliseconds is None else round(self._milliseconds, 1),
                "error": None if error is None else error.to_json(),
            }
            command_turn.value(self._host, value)
        elif answer is not None:
            _print(answer.content, self._host.redacted, as_file=self._arguments.command == "read")
        if answer is not None and answer.warning:
            command_turn.say(self._host, answer.warning)
        for words in () if answer is None else answer.output_errors or ():
            command_turn.say(self._host, words)
        if answer is not None and answer.is_error:
            command_turn.say(self._host, f"{self._name} reports an error")


def _pairs(words: Sequence[str]) -> dict[str, str]:
    pairs = [word.partition("=") for word in words]
    for key, equals, _ in pairs:
        if not key or not equals:
            raise SettingsError(f"{key or 'an empty word'} has no value", "prompt", "write KEY=VALUE")
    return {key: value for key, _, value in pairs}


def _print(content: Sequence[Content], redacted: Callable[[str], str], *, as_file: bool) -> None:
    """Print blocks. With `as_file`, a pipe or file gets a resource's exact bytes instead of a description."""
    for block in content:
        if not as_file:
            address = f" {block.uri}" if block.kind == "resource_link" and block.uri not in block.text else ""
            output.text(redacted(block.text + address))
        elif block.data and not output.is_terminal():
            try:
                output.raw([base64.b64decode(block.data, validate=True)])
            except binascii.Error:
                raise TuiHostError("the resource's blob is not base64", block.uri) from None
        else:
            output.raw([redacted(block.text).encode(errors="replace")])


def _standard_input() -> str:
    if sys.stdin is None:
        raise SettingsError("standard input is closed", "call -", "pipe the JSON into it")
    try:
        return sys.stdin.buffer.read(4 * LIMIT + 1).decode()
    except UnicodeDecodeError:
        raise SettingsError("standard input is not UTF-8", "call -", "send JSON") from None
