"""`call`, `read` and `prompt`: a single request to a server, by the user's own consent. Recorded as a session, like `ask`."""

from __future__ import annotations

import base64
import binascii
import time
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from tui_host.chat.call_arguments import LIMIT, canonical
from tui_host.cli import diagnostics, options, output
from tui_host.cli.answerers import FlagAnswerer, given_arguments, given_text, with_flags
from tui_host.cli.commands.server_check import output_faults
from tui_host.cli.hosting import Interruption, chosen_servers, only_server, opened, print_value, run_host, say
from tui_host.errors import JSON, ServerError, SettingsError, TuiHostError
from tui_host.host.host import Host
from tui_host.servers.catalog import READ
from tui_host.settings.mistakes import nearest

if TYPE_CHECKING:
    from tui_host.chat.session import Session
    from tui_host.servers.catalog import CallProgress, ContentBlock, ServerStatus, Tool
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
    parser.flag("--json", options.AS_JSON)
    options.answers(parser)
    parser.words("+", "SERVER", f"the server's name, followed by {words.replace(' [', ', ').rstrip(']')}", str)
    parser.flag("--no-record", options.RECORDS_NOTHING, default=options.UNSET)


def run(args: Namespace, settings: Settings) -> int:
    """Send the request, print the answer, and return the exit code."""
    server, *words = args.words
    chosen_servers(settings.servers, (server,))
    if not 1 <= len(words) <= _MOST_WORDS[args.command]:
        remedy = f"write tui-host {args.command} SERVER {_WORDS[args.command]}"
        raise SettingsError("wrong number of arguments", args.command, remedy)
    request = _Request(args, settings)
    try:
        return run_host(request.host, request.send)
    except TuiHostError as error:
        if args.json and not isinstance(error, SettingsError):
            print_value(request.host, {**request.value, "error": error.to_json()})
        raise


class _Request:
    """A request, from the host's start to its end, and the object of `--json` as far as it is known."""

    def __init__(self, args: Namespace, settings: Settings) -> None:
        self._args = args
        self._server, self._name, *self._more = args.words
        self._sent: dict[str, JSON] = {"uri": self._name}
        if args.command == "prompt":
            self._sent = {**options.pairs(self._more, "prompt", "KEY=VALUE")}
        elif args.command == "call":
            self._sent = given_arguments(given_text("".join(self._more), "call", 4 * LIMIT), "call JSON")
        only = {self._server: replace(settings.servers[self._server], enabled=True)}
        settings = with_flags(replace(settings, servers=only), args)
        self.host = Host(settings, source="ask", record=not args.no_record)
        self._say = partial(say, self.host)
        self._answerer = self.host.answerer = FlagAnswerer(args, self._say)
        self.value: dict[str, JSON] = {
            "session": None,
            "server": self._server,
            _MEMBERS[args.command]: self._name,
            "sent": self._sent,
            **dict.fromkeys(("result", "is_error", "output_errors", "ms", "error")),
        }

    async def send(self, _: Interruption) -> int:
        """Send the request and print the answer; returns the exit code."""
        status = await only_server(self.host)
        session = self.host.sessions.new()
        session.is_direct = True  # no model: its title is the call
        self.value["session"] = None if self._args.no_record else session.id
        await (self._fill_in(session) if self._args.command == "prompt" else self._call(session, status))
        mistakes = list(self._answerer.unknown())
        for words in mistakes:
            self._say(words)
        return diagnostics.FAILED if self.value["is_error"] or mistakes else diagnostics.DONE

    async def _call(self, session: Session, status: ServerStatus) -> None:
        from tui_host.chat.calls import call_directly  # brings anyio, which the first frame need not wait for

        (pool, recorder), tool = opened(self.host), self._tool(status)
        # Sent all the same: the schema may be wrong, and what the server says then is worth seeing.
        for misfit in await self.host.misfits(tool.schema, self._sent) or ():
            self._say(f"the arguments do not fit the schema of {tool.name}: {misfit}")
        sent, began = canonical(self._sent), time.perf_counter()
        try:
            result = await call_directly(pool, recorder, session, tool, sent, on_progress=self._progressed)
        finally:
            self.value["ms"] = round((time.perf_counter() - began) * 1000, 1)
            self._tell_asides(tool, status, pool.statuses()[0])
        self.value |= {"result": result.raw, "is_error": result.is_error}
        warnings = [result.warning]
        if tool.output_schema is not None and not result.is_error:
            faults = await output_faults(tool, result, self.host.misfits)
            self.value["output_errors"] = [*faults]
            warnings += faults
        self._print(result.content, warnings)

    async def _fill_in(self, session: Session) -> None:
        session.begin_turn(" ".join(("prompt", self._server, self._name, *self._more)))
        place = session.place(step=1, call=f"direct_{session.turn}")
        values = options.pairs(self._more, "prompt", "KEY=VALUE")
        began = time.perf_counter()
        filled = await opened(self.host)[0].get_prompt(self._server, self._name, values, place=place)
        self.value |= {"result": filled.raw, "is_error": False, "ms": round((time.perf_counter() - began) * 1000, 1)}
        blocks = [replace(sent.content, text=f"{sent.role}: {sent.content.text}") for sent in filled.messages]
        self._print(blocks, [filled.warning])

    def _tool(self, status: ServerStatus) -> Tool:
        name = READ if self._args.command == "read" else self._name
        tool = next((tool for tool in (*opened(self.host)[0].tools(), *status.tools) if tool.name == name), None)
        if tool is not None and not tool.problem:
            return tool
        if name == READ:
            raise ServerError("the server declares no resources", self._server, sent=False)
        what = f"no tool {name}" if tool is None else f"{name} cannot be called: {tool.problem}"
        names = [tool.name for tool in status.tools if not tool.problem]
        raise ServerError(what, self._server, nearest(name, names), sent=False)

    def _tell_asides(self, tool: Tool, before: ServerStatus, now: ServerStatus) -> None:
        """Say what the server did beside the answer: log messages, requests that were refused, a page for the tool."""
        if unshown := sum(count for _, count in now.log_counts) - len(now.log):
            self._say(f"{unshown:,} earlier log messages are not shown")
        for entry in now.log:
            self._say(f"log {entry.level}: {f'{entry.logger}: ' if entry.logger else ''}{entry.text}")
        for notice in now.notices:
            if notice not in before.notices:
                self._say(f"{self._server}: {notice}")
        if tool.page:
            self._say(f"the tool has a page, which is not shown: tui-host read {self._server} {tool.page}")

    def _progressed(self, progress: CallProgress) -> None:
        of = f"/{progress.total:g}" if progress.total is not None else ""
        self._say(f"{progress.progress:g}{of} {progress.message}".strip())

    def _print(self, content: Sequence[ContentBlock], warnings: Sequence[str]) -> None:
        if self._args.json:
            print_value(self.host, self.value)
        redacted = self.host.redactor.text
        for block in () if self._args.json else content:
            if self._args.command != "read":
                address = f" {block.uri}" if block.kind == "resource_link" and block.uri not in block.text else ""
                output.text(redacted(block.text + address))
            elif block.data and not output.is_terminal():  # a pipe or file gets a resource's exact bytes
                try:
                    output.raw([base64.b64decode(block.data, validate=True)])
                except binascii.Error:
                    raise TuiHostError("the resource's blob is not base64", block.uri) from None
            else:
                output.raw([redacted(block.text).encode(errors="replace")])
        for words in filter(None, warnings):
            self._say(words)
        if self.value["is_error"]:
            self._say(f"{self._name} reports an error")
