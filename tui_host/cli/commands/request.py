"""`call`, `read` and `prompt`: a single request to a server, by the user's own consent. Recorded as a session, like `ask`."""

from __future__ import annotations

import base64
import binascii
import sys
import time
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from tui_host.cli import diagnostics, options, output
from tui_host.cli.hosting import chosen_servers, pool_of, print_value, run_async, running, say, say_unkept, settled
from tui_host.errors import JSON, ServerError, SettingsError, TuiHostError
from tui_host.host.host import Host

if TYPE_CHECKING:
    from tui_host.chat.session import Session
    from tui_host.servers.catalog import Content, Progress, ServerStatus, Tool
    from tui_host.settings.schema import Settings

_DESCRIPTIONS = {
    "call": """\
Call a tool of a configured server, without a model and without approval: the command is your consent.
Prints the result. Without JSON, the tool is called without arguments; - reads them from standard input.""",
    "read": "Read a resource and print its contents.",
    "prompt": "Fill in a prompt and print its messages.",
}
_WORDS = {"call": "TOOL [JSON]", "read": "URI", "prompt": "NAME [KEY=VALUE…]"}
_MOST_WORDS = {"call": 2, "read": 1, "prompt": 100}
_MEMBERS = {"call": "tool", "read": "uri", "prompt": "prompt"}


def add(parser: options.CommandParser) -> None:
    """Add the options."""
    words = _WORDS[parser.command]
    parser.description = _DESCRIPTIONS[parser.command]
    parser.usage = f"tui-host {parser.command} [OPTIONS] SERVER {words}"
    options.json_too(parser)
    options.answers(parser)
    parser.words("+", "SERVER", f"the server's name, followed by {words.replace(' [', ', ').rstrip(']')}", str)
    options.no_record(parser)


def run(args: Namespace, settings: Settings) -> int:
    """Send the request, print the answer, and return the exit code."""
    request = _Request(args, settings)
    try:
        return run_async(request.run)
    except TuiHostError as error:
        if args.json and not isinstance(error, SettingsError):
            request.print_json(error)
        raise


class _Request:
    """A request, from the host's start to its end, and what is known of its answer."""

    def __init__(self, args: Namespace, settings: Settings) -> None:
        from tui_host.cli.answerers import FlagAnswerer, with_flags

        self._args, self._command = args, args.command
        self._server, *rest = args.words
        chosen_servers(settings.servers, (self._server,))
        if not 1 <= len(rest) <= _MOST_WORDS[self._command]:
            remedy = f"write tui-host {self._command} SERVER {_WORDS[self._command]}"
            raise SettingsError("wrong number of arguments", self._command, remedy)
        self._name, self._more = rest[0], rest[1:]
        self._sent = self._arguments()
        only = {self._server: replace(settings.servers[self._server], enabled=True)}
        settings = with_flags(replace(settings, servers=only), args)
        self._host = Host(settings, source="ask", record=not args.no_record)
        self._say = partial(say, self._host)
        self._answerer = self._host.answerer = FlagAnswerer(args, self._say)
        self._session: Session | None = None
        self._result: JSON = None
        self._is_error: bool | None = None
        self._output_errors: Sequence[str] | None = None
        self._milliseconds: float | None = None

    def _arguments(self) -> dict[str, JSON]:
        from tui_host.chat.call_arguments import read_arguments

        if self._command == "read":
            return {"uri": self._name}
        if self._command == "prompt":
            return {**_pairs(self._more)}
        text = _standard_input() if self._more[:1] == ["-"] else "".join(self._more)
        try:
            return read_arguments(text)
        except TuiHostError as error:
            raise SettingsError(error.what, "call JSON", error.remedy or "write a JSON object") from error

    async def run(self) -> int:
        """Connect, send, print; returns the exit code."""
        import anyio

        host = self._host
        async with running(host) as interruption:
            (status,) = await settled(host, interruption)
            if interruption.code is not None:
                return interruption.code
            if status.state != "ready":
                raise ServerError(f"not connected: {status.detail or status.state}", self._server, sent=False)
            session = self._session = host.sessions.new()
            session.is_direct = True  # no model: its title is the call
            with anyio.CancelScope() as scope:
                interruption.then(scope.cancel)
                await (self._fill_in(session) if self._command == "prompt" else self._call(session, status))
        if not self._args.no_record:
            say_unkept(host)
        if interruption.code is not None:
            return interruption.code
        mistakes = list(self._answerer.unknown())
        for words in mistakes:
            self._say(words)
        return diagnostics.FAILED if self._is_error or mistakes else diagnostics.DONE

    async def _call(self, session: Session, status: ServerStatus) -> None:
        """Call the tool, or read the resource."""
        from tui_host.chat.call_arguments import canonical
        from tui_host.chat.direct_call import call_directly
        from tui_host.cli.server_findings import check_call

        host, tool = self._host, self._tool(status)
        assert host.recorder is not None  # noqa: S101 - there once the host is ready
        # Sent all the same: the schema may be wrong, and what the server says then is worth seeing.
        for misfit in await host.misfits(tool.schema, self._sent) or ():
            self._say(f"the arguments do not fit the schema of {tool.name}: {misfit}")
        began = time.perf_counter()
        try:
            result = await call_directly(
                pool_of(host), host.recorder, session, tool, canonical(self._sent), on_progress=self._progressed
            )
        finally:
            self._milliseconds = (time.perf_counter() - began) * 1000
            self._tell_asides(tool, before=status)
        self._result, self._is_error = result.raw, result.is_error
        if tool.output_schema is not None and not result.is_error:
            # The warning is printed in any case.
            findings = await check_call(tool, replace(result, warning=""), host.misfits)
            self._output_errors = [finding.words for finding in findings]
        self._print(result.content, result.warning)

    def _tool(self, status: ServerStatus) -> Tool:
        from tui_host.servers.catalog import READ
        from tui_host.settings.mistakes import nearest

        name = READ if self._command == "read" else self._name
        tool = next((tool for tool in (*pool_of(self._host).tools(), *status.tools) if tool.name == name), None)
        if tool is not None and not tool.problem:
            return tool
        if name == READ:
            raise ServerError("the server declares no resources", self._server, sent=False)
        names = [tool.name for tool in status.tools if not tool.problem]
        what = f"no tool {name}" if tool is None else f"{name} cannot be called: {tool.problem}"
        raise ServerError(what, self._server, nearest(name, names), sent=False)

    def _tell_asides(self, tool: Tool, *, before: ServerStatus) -> None:
        """Say what the server did beside the answer: log messages, requests that were refused, a page for the tool."""
        (now,) = pool_of(self._host).statuses()
        if unshown := sum(count for _, count in now.log_counts) - len(now.log):
            self._say(f"{unshown:,} earlier log messages are not shown")
        for entry in now.log:
            self._say(f"log {entry.level}: {f'{entry.logger}: ' if entry.logger else ''}{entry.text}")
        for notice in now.notices:
            if notice not in before.notices:
                self._say(f"{self._server}: {notice}")
        if tool.page:
            self._say(f"the tool has a page, which is not shown: tui-host read {self._server} {tool.page}")

    async def _fill_in(self, session: Session) -> None:
        """Fill in the prompt, and print each message behind its role."""
        session.begin_turn(" ".join(("prompt", self._server, self._name, *self._more)))
        place = session.place(step=1, call=f"direct_{session.turn}")
        began = time.perf_counter()
        try:
            filled = await pool_of(self._host).get_prompt(self._server, self._name, _pairs(self._more), place=place)
        finally:
            self._milliseconds = (time.perf_counter() - began) * 1000
        self._result, self._is_error = filled.raw, False
        blocks = [replace(sent.content, text=f"{sent.role}: {sent.content.text}") for sent in filled.messages]
        self._print(blocks, filled.warning)

    def _progressed(self, progress: Progress) -> None:
        of = f"/{progress.total:g}" if progress.total is not None else ""
        self._say(f"{progress.progress:g}{of} {progress.message}".strip())

    def print_json(self, error: TuiHostError | None = None) -> None:
        """Print the object of `--json`."""
        value: dict[str, JSON] = {
            "session": None if self._session is None or self._args.no_record else self._session.id,
            "server": self._server,
            _MEMBERS[self._command]: self._name,
            "sent": self._sent,
            "result": self._result,
            "is_error": self._is_error,
            "output_errors": None if self._output_errors is None else [*self._output_errors],
            "ms": None if self._milliseconds is None else round(self._milliseconds, 1),
            "error": None if error is None else error.to_json(),
        }
        print_value(self._host, value)

    def _print(self, content: Sequence[Content], warning: str) -> None:
        if self._args.json:
            self.print_json()
        else:
            for block in content:
                self._print_block(block)
        for words in filter(None, (warning, *(self._output_errors or ()))):
            self._say(words)
        if self._is_error:
            self._say(f"{self._name} reports an error")

    def _print_block(self, block: Content) -> None:
        redacted = self._host.redacted
        if self._command != "read":
            address = f" {block.uri}" if block.kind == "resource_link" and block.uri not in block.text else ""
            output.text(redacted(block.text + address))
        elif block.data and not output.is_terminal():  # a pipe or file gets a resource's exact bytes
            try:
                output.raw([base64.b64decode(block.data, validate=True)])
            except binascii.Error:
                raise TuiHostError("the resource's blob is not base64", block.uri) from None
        else:
            output.raw([redacted(block.text).encode(errors="replace")])


def _pairs(words: Sequence[str]) -> dict[str, str]:
    pairs = [word.partition("=") for word in words]
    for key, equals, _ in pairs:
        if not key or not equals:
            raise SettingsError(f"{key or 'an empty word'} has no value", "prompt", "write KEY=VALUE")
    return {key: value for key, _, value in pairs}


def _standard_input() -> str:
    from tui_host.chat.call_arguments import LIMIT

    if sys.stdin is None:
        raise SettingsError("standard input is closed", "call -", "pipe the JSON into it")
    try:
        return sys.stdin.buffer.read(4 * LIMIT + 1).decode()
    except UnicodeDecodeError:
        raise SettingsError("standard input is not UTF-8", "call -", "send JSON") from None
