"""`call`, `read` and `prompt`: a single request to a server, by the user's own consent. Recorded as a session, like `ask`."""

from __future__ import annotations

import base64
import binascii
import time
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from tui_host.chat.call_arguments import LIMIT, canonical
from tui_host.chat.result_words import progress_words
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
    from tui_host.servers.catalog import ContentBlock, ServerStatus
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
    sent: dict[str, JSON] = {"uri": words[0]}
    if args.command == "prompt":
        sent = {**options.pairs(words[1:], "prompt", "KEY=VALUE")}
    elif args.command == "call":
        sent = given_arguments(given_text("".join(words[1:]), "call", 4 * LIMIT), "call JSON")
    settings = replace(settings, servers={server: replace(settings.servers[server], enabled=True)})
    host = Host(with_flags(settings, args), source="ask", record=not args.no_record)
    answerer = host.answerer = FlagAnswerer(args, partial(say, host))
    value: dict[str, JSON] = {
        "session": None,
        "server": server,
        _MEMBERS[args.command]: words[0],
        "sent": sent,
        **dict.fromkeys(("result", "is_error", "output_errors", "ms", "error")),
    }
    request = _Request(args, host, answerer, sent, value)
    try:
        return run_host(host, request.send)
    except TuiHostError as error:
        if args.json and not isinstance(error, SettingsError):
            print_value(host, {**value, "error": error.to_json()})
        raise


@dataclass(slots=True)
class _Request:
    """A request, what is sent with it, and the object of `--json` as far as it is known."""

    args: Namespace
    host: Host
    answerer: FlagAnswerer
    sent: dict[str, JSON]
    value: dict[str, JSON]

    async def send(self, _: Interruption) -> int:
        """Send the request and print the answer; returns the exit code."""
        status = await only_server(self.host)
        session = self.host.sessions.new()
        session.is_direct = True  # no model: its title is the call
        self.value["session"] = None if self.args.no_record else session.id
        if self.args.command == "prompt":
            server, name, *more = self.args.words
            session.begin_turn(" ".join(("prompt", *self.args.words)))
            place = session.place(step=1, call=f"direct_{session.turn}")
            values = options.pairs(more, "prompt", "KEY=VALUE")
            began = time.perf_counter()
            filled = await opened(self.host)[0].get_prompt(server, name, values, place=place)
            took = round((time.perf_counter() - began) * 1000, 1)
            self.value |= {"result": filled.raw, "is_error": False, "ms": took}
            blocks = [replace(sent.content, text=f"{sent.role}: {sent.content.text}") for sent in filled.messages]
            self._print(blocks, [filled.warning])
        else:
            await self._call(session, status)
        mistakes = list(self.answerer.unknown())
        for words in mistakes:
            say(self.host, words)
        return diagnostics.FAILED if self.value["is_error"] or mistakes else diagnostics.DONE

    async def _call(self, session: Session, before: ServerStatus) -> None:
        from tui_host.chat.calls import call_directly  # brings anyio, which the first frame need not wait for

        (pool, recorder), tell, server = opened(self.host), partial(say, self.host), before.name
        name = READ if self.args.command == "read" else self.args.words[1]
        tool = next((tool for tool in (*pool.tools(), *before.tools) if tool.name == name), None)
        if tool is None or tool.problem:
            if name == READ:
                raise ServerError("the server declares no resources", server, sent=False)
            what = f"no tool {name}" if tool is None else f"{name} cannot be called: {tool.problem}"
            names = [tool.name for tool in before.tools if not tool.problem]
            raise ServerError(what, server, nearest(name, names), sent=False)
        # Sent all the same: the schema may be wrong, and what the server says then is worth seeing.
        for misfit in await self.host.misfits(tool.schema, self.sent) or ():
            tell(f"the arguments do not fit the schema of {tool.name}: {misfit}")
        sent, began = canonical(self.sent), time.perf_counter()
        try:
            result = await call_directly(
                pool, recorder, session, tool, sent, on_progress=lambda progress: tell(progress_words(progress))
            )
        finally:
            self.value["ms"] = round((time.perf_counter() - began) * 1000, 1)
            # What the server did beside the answer: log messages, requests that were refused, a page for the tool.
            now = pool.statuses()[0]
            if unshown := sum(count for _, count in now.log_counts) - len(now.log):
                tell(f"{unshown:,} earlier log messages are not shown")
            for entry in now.log:
                tell(f"log {entry.level}: {f'{entry.logger}: ' if entry.logger else ''}{entry.text}")
            for notice in now.notices:
                if notice not in before.notices:
                    tell(f"{server}: {notice}")
            if tool.page:
                tell(f"the tool has a page, which is not shown: tui-host read {server} {tool.page}")
        self.value |= {"result": result.raw, "is_error": result.is_error}
        warnings = [result.warning]
        if tool.output_schema is not None and not result.is_error:
            faults = await output_faults(tool, result, self.host.misfits)
            self.value["output_errors"] = [*faults]
            warnings += faults
        self._print(result.content, warnings)

    def _print(self, content: Sequence[ContentBlock], warnings: Sequence[str]) -> None:
        if self.args.json:
            print_value(self.host, self.value)
        redacted = self.host.redactor.text
        for block in () if self.args.json else content:
            if self.args.command != "read":
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
            say(self.host, words)
        if self.value["is_error"]:
            say(self.host, f"{self.args.words[1]} reports an error")
