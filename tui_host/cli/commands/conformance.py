"""`conformance`: uses everything that a server offers, without a screen, for the official conformance suite of MCP clients.

The suite appends its server's URL to the command and says in two environment variables what it wants to see. Source: npm
`@modelcontextprotocol/conformance`, README, Client Testing.
"""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from http.client import HTTPConnection
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from typing_extensions import override

from tui_host.capture.json.narrowing import items, mapping, text_or_empty
from tui_host.cli import diagnostics, options
from tui_host.cli.hosting import host_of, pool_of, run_async, running, say, settled
from tui_host.errors import JSON, ServerError, SettingsError
from tui_host.servers.catalog import READ
from tui_host.servers.server_questions import Declines, ElicitationAnswer, SamplingAnswer
from tui_host.settings.schema import Template

if TYPE_CHECKING:
    from tui_host.capture.record import Place
    from tui_host.servers.catalog import Tool
    from tui_host.servers.server_questions import Elicitation, Login, SamplingRequest
    from tui_host.settings.schema import ServerSpec, Settings

_METADATA_URL = (
    "https://conformance-test.local/client-metadata.json"  # the client's id where the suite's servers take one
)
_SCHEMA_SCENARIO = "json-schema-2020-12-preservation"  # a tool's schema is sent back, as the argument of another tool
_VALUES: Mapping[str, JSON] = {"string": "text", "boolean": True, "array": [], "null": None}


def add(parser: options.CommandParser) -> None:
    """Add the server, which may also be a command behind `--`."""
    parser.add_argument("server", nargs="*", metavar="URL")


def run(args: Namespace, settings: Settings) -> int:
    """Use the server, and return the exit code: 0 if every call was sent."""
    if not args.server:
        raise SettingsError("no server", "conformance", "write a URL, or -- and a command")
    try:
        context = mapping(json.loads(settings.environment.get("MCP_CONFORMANCE_CONTEXT") or "{}"))
    except ValueError as error:
        raise SettingsError(f"not JSON: {error}", "MCP_CONFORMANCE_CONTEXT", "unset the variable") from error
    return run_async(_use, settings, context)


async def _use(settings: Settings, context: Mapping[str, JSON]) -> int:
    """Call what the suite wants to see called, else every tool, and fill in the prompts without arguments."""
    import anyio

    from tui_host.chat.call_arguments import canonical
    from tui_host.chat.direct_call import call_directly
    from tui_host.settings.login_storage import Logins

    ((name, spec),) = settings.servers.items()
    host = host_of(settings, {name: _with_credentials(spec, context)})
    # Each scenario begins without logins.
    host.answerer, host.sampler, host.logins = Consents(), FixedSampler(), Logins()
    async with running(host) as interruption:
        (status,) = await settled(host, interruption)
        if interruption.code is None and status.state != "ready":
            raise ServerError(f"not connected: {status.detail or status.state}", name)
        with anyio.CancelScope() as scope:
            interruption.then(scope.cancel)
            pool, session = pool_of(host), host.sessions.new()
            assert host.recorder is not None  # noqa: S101 - there once the host is ready
            await pool.listed(spec.timeout or 60.0)
            offered = {tool.name: tool for tool in pool.tools()}
            for tool_name, arguments in _calls(offered, context, settings.environment):
                if tool_name not in offered:
                    raise ServerError(f"no tool {tool_name}", name, sent=False)
                try:
                    await call_directly(pool, host.recorder, session, offered[tool_name], canonical(arguments))
                except ServerError as error:
                    if not error.sent:
                        raise
                    say(host, str(error))  # a refusal is an answer too: the suite judges by what was sent
            for prompt in pool.statuses()[0].prompts:
                if not any(argument.required for argument in prompt.arguments):  # which texts it takes is not told
                    await pool.get_prompt(name, prompt.name, {}, place=session.place(step=0))
    return diagnostics.DONE if interruption.code is None else interruption.code


def _with_credentials(spec: ServerSpec, context: Mapping[str, JSON]) -> ServerSpec:
    texts = {name: text_or_empty(context.get(name)) for name in ("client_id", "client_secret")}
    given = {name: Template(text=text, literal=True) for name, text in texts.items() if text}
    return replace(spec, enabled=True, sampling=True, client_metadata_url=_METADATA_URL, **given)


def _calls(
    offered: Mapping[str, Tool], context: Mapping[str, JSON], environment: Mapping[str, str]
) -> Iterator[tuple[str, Mapping[str, JSON]]]:
    if asked := [mapping(call) for call in items(context.get("toolCalls"))]:
        yield from ((text_or_empty(call.get("name")), mapping(call.get("arguments"))) for call in asked)
        return
    for name, tool in offered.items():
        arguments = mapping(sample(tool.schema, optional=True))
        if name == READ:
            yield from ((READ, {"uri": item.uri}) for item in tool.resources or () if not item.is_template)
        elif environment.get("MCP_CONFORMANCE_SCENARIO") == _SCHEMA_SCENARIO and "schema" in arguments:
            yield name, {"schema": next(other.schema for other in offered.values() if other is not tool)}
        else:
            yield name, arguments


def sample(schema: JSON, *, optional: bool = False) -> JSON:
    """Return a value for a schema: its default, its first choice, or a plain value of its type.

    With `optional`, an object also gets the members that it need not have, even without a default.
    """
    known = mapping(schema)
    for name in ("default", "const"):
        if name in known:
            return known[name]
    if choices := items(known.get("enum")) or items(known.get("oneOf")) or items(known.get("anyOf")):
        return sample(choices[0]) if isinstance(choices[0], Mapping) else choices[0]
    kind = next(iter(items(known.get("type"))), known.get("type"))
    if kind in {"number", "integer"}:
        return known.get("minimum", 1)
    if isinstance(kind, str) and kind in _VALUES:
        return _VALUES[kind]
    members = mapping(known.get("properties")).items()
    wanted = [name for name, member in members if optional or "default" in mapping(member)]
    required = items(known.get("required"))
    return {name: sample(member, optional=optional) for name, member in members if name in wanted or name in required}


class Consents(Declines):
    """Answers in the person's place: yes to every question, with defaults."""

    @override
    async def elicit(self, request: Elicitation) -> ElicitationAnswer:
        content = None if request.schema is None else mapping(sample(request.schema))
        return ElicitationAnswer(action="accept", content=content)

    @override
    async def review_request(self, request: SamplingRequest) -> SamplingRequest | None:
        return request

    @override
    async def review_answer(self, request: SamplingRequest, answer: SamplingAnswer) -> SamplingAnswer | None:
        return answer

    @override
    async def log_in(self, login: Login) -> str | None:
        import anyio

        return await anyio.to_thread.run_sync(visit, login.url)


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
    """Visit a login's page as a browser would, and return the address that it redirects to, None without one."""
    place = urlsplit(url)
    connection = HTTPConnection(place.hostname or "", place.port, timeout=10)
    try:
        connection.request("GET", f"{place.path}?{place.query}")
        return connection.getresponse().getheader("location")
    finally:
        connection.close()
