"""`conformance`: uses everything that a server offers, without a screen, for the official conformance suite of MCP clients.

The suite appends its server's URL to the command and says in two environment variables what it wants to see. Source: npm
`@modelcontextprotocol/conformance`, README, Client Testing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from http.client import HTTPConnection
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import anyio
from anyio import to_thread

from tui_host.capture.json.narrowing import items, mapping, text_or_empty
from tui_host.chat.call_arguments import canonical
from tui_host.chat.direct_call import call_directly
from tui_host.cli import diagnostics
from tui_host.cli.command_host import running
from tui_host.cli.servers_command import patience, settled
from tui_host.errors import JSON, ServerError, SettingsError
from tui_host.host.host import Host
from tui_host.servers.catalog import READ
from tui_host.servers.server_questions import ElicitationAnswer, SamplingAnswer
from tui_host.settings.login_storage import MemoryLogins
from tui_host.settings.schema import Template

if TYPE_CHECKING:
    from tui_host.capture.record import Place
    from tui_host.chat.session import Session
    from tui_host.servers.catalog import ServerStatus, Tool
    from tui_host.servers.server_questions import Elicitation, Login, SamplingRequest
    from tui_host.settings.schema import ServerSpec, Settings

CONTEXT = "MCP_CONFORMANCE_CONTEXT"
SCENARIO = "MCP_CONFORMANCE_SCENARIO"
CLIENT_METADATA = "https://conformance-test.local/client-metadata.json"
"""The client's id at the suite's authorization servers that take the address of a document."""
_OF_SCHEMAS = "json-schema-2020-12-preservation"
"""The scenario in which a tool's schema is sent back to the server, as the argument of another tool."""

_PLAIN: Mapping[str, JSON] = {"string": "text", "boolean": True, "array": [], "null": None}
"""A value of each plain type."""


def conformance(settings: Settings) -> int:
    """Use the server, and return the exit code: 0 if every call was sent.

    Raises:
        SettingsError: There is no server, or the suite's context is malformed.
        ServerError: The server could not be reached, or a call could not be sent.
    """
    if len(settings.servers) != 1:
        raise SettingsError("no server", "conformance", "write a URL, or -- and a command")
    ((name, spec),) = settings.servers.items()
    context = _context(settings.environment.get(CONTEXT, ""))
    spec = replace(
        spec,
        enabled=True,
        sampling=True,
        client_id=_given(context, "client_id"),
        client_secret=_given(context, "client_secret"),
        client_metadata_url=CLIENT_METADATA,
    )
    suite = _Suite(replace(settings, servers={name: spec}), spec, context)
    return anyio.run(suite.run)


def _context(text: str) -> Mapping[str, JSON]:
    try:
        return mapping(json.loads(text or "{}"))
    except ValueError as error:
        raise SettingsError(f"not JSON: {error}", CONTEXT, "unset the variable") from error


def _given(context: Mapping[str, JSON], name: str) -> Template | None:
    text = text_or_empty(context.get(name))
    return Template(text=text, literal=True) if text else None


class _Suite:
    """One scenario, from the host's start to its end."""

    def __init__(self, settings: Settings, spec: ServerSpec, context: Mapping[str, JSON]) -> None:
        self._host = Host(settings, source="ask", record=False)
        self._host.answerer = Consents()
        self._host.logins = MemoryLogins()
        self._host.sampler = FixedSampler()
        self._spec = spec
        self._context = context
        self._scenario = settings.environment.get(SCENARIO, "")

    async def run(self) -> int:
        host = self._host
        async with running(host) as interruption:
            (status,) = await settled(host, interruption, patience(self._spec))
            if interruption.code is not None:
                return interruption.code
            if status.state != "ready":
                raise ServerError(f"not connected: {status.detail or status.state}", status.name)
            with anyio.CancelScope() as scope:
                interruption.then(scope.cancel)
                await self._use(status, host.sessions.new())
        return diagnostics.DONE if interruption.code is None else interruption.code

    async def _use(self, status: ServerStatus, session: Session) -> None:
        """Call what the suite wants to see called, else every tool, and read what the server offers."""
        assert self._host.pool is not None  # noqa: S101 - there once the host is ready
        assert self._host.recorder is not None  # noqa: S101
        await self._host.pool.listed(self._spec.timeout or 60.0)
        offered = {tool.name: tool for tool in self._host.pool.tools()}
        for name, arguments in self._calls(offered):
            tool = offered.get(name)
            if tool is None:
                raise ServerError(f"no tool {name}", status.name, sent=False)
            try:
                await call_directly(self._host.pool, self._host.recorder, session, tool, canonical(arguments))
            except ServerError as error:
                if not error.sent:
                    raise
                diagnostics.tell(str(error))  # a refusal is an answer too: the suite judges by what was sent
        for prompt in self._host.pool.statuses()[0].prompts:
            if not any(argument.required for argument in prompt.arguments):  # which texts it takes is not told
                await self._host.pool.get_prompt(status.name, prompt.name, {}, place=session.place(step=0))

    def _calls(self, offered: Mapping[str, Tool]) -> Iterator[tuple[str, Mapping[str, JSON]]]:
        asked = [mapping(call) for call in items(self._context.get("toolCalls"))]
        for call in asked:
            yield text_or_empty(call.get("name")), mapping(call.get("arguments"))
        for name, tool in offered.items():
            if not asked and tool.name == READ:
                yield from ((READ, {"uri": item.uri}) for item in tool.resources or () if not item.is_template)
            elif not asked:
                arguments = mapping(sample(tool.schema, optional=True))
                if self._scenario == _OF_SCHEMAS and "schema" in arguments:
                    arguments = {"schema": next(other.schema for other in offered.values() if other is not tool)}
                yield name, arguments


def sample(schema: JSON, *, optional: bool = False) -> JSON:
    """Return a value for a schema: its default, its first choice, or a plain value of its type.

    Args:
        schema: The JSON schema.
        optional: Whether an object also gets the members that it need not have, even without a default.
    """
    known = mapping(schema)
    for name in ("default", "const"):
        if name in known:
            return known[name]
    if choices := items(known.get("enum")) or items(known.get("oneOf")) or items(known.get("anyOf")):
        return sample(choices[0]) if isinstance(choices[0], Mapping) else choices[0]
    kinds = known.get("type")
    kind = items(kinds)[0] if items(kinds) else kinds
    if kind in {"number", "integer"}:
        return known.get("minimum", 1)
    if isinstance(kind, str) and kind in _PLAIN:
        return _PLAIN[kind]
    required, members = items(known.get("required")), mapping(known.get("properties"))
    return {
        name: sample(member, optional=optional)
        for name, member in members.items()
        if optional or name in required or "default" in mapping(member)
    }


class Consents:
    """Answers in the person's place: yes to every question, with defaults."""

    async def elicit(self, request: Elicitation) -> ElicitationAnswer:
        """Accept, with the defaults of the form."""
        content = None if request.schema is None else mapping(sample(request.schema))
        return ElicitationAnswer(action="accept", content=content)

    async def review_request(self, request: SamplingRequest) -> SamplingRequest | None:
        """Let the request go."""
        return request

    async def review_answer(self, request: SamplingRequest, answer: SamplingAnswer) -> SamplingAnswer | None:
        """Let the answer go."""
        del request
        return answer

    async def log_in(self, login: Login) -> str | None:
        """Visit the address as a browser would, and return the address that it is sent to."""
        return await to_thread.run_sync(visit, login.url)


class FixedSampler:
    """Answers in a model's place, always the same."""

    def model_for(self, session: str | None, hints: Sequence[str]) -> str:
        """Name no model."""
        del session, hints
        return "none"

    async def sample(self, request: SamplingRequest, place: Place) -> SamplingAnswer:
        """Answer."""
        del request, place
        content: JSON = {"type": "text", "text": "an answer"}
        return SamplingAnswer(result={"role": "assistant", "content": content, "model": "none"})


def visit(url: str) -> str | None:
    """Return the address that an authorization server redirects to, None without a redirect."""
    place = urlsplit(url)
    connection = HTTPConnection(place.hostname or "", place.port, timeout=10)
    try:
        connection.request("GET", f"{place.path}?{place.query}")
        return connection.getresponse().getheader("location")
    finally:
        connection.close()
