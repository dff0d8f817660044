"""`conformance`: uses everything that a server offers, without a screen, for the official conformance suite of MCP clients.

What the suite wants stands in two environment variables. Source: npm `@modelcontextprotocol/conformance`, README.
"""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from http.client import HTTPConnection
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from typing_extensions import override

from tui_host.capture.json.narrowing import items, mapping, text_or_empty
from tui_host.chat.call_arguments import canonical
from tui_host.cli import diagnostics, options
from tui_host.cli.answerers import FlagAnswerer
from tui_host.cli.hosting import LIST_SECONDS, only_server, opened, run_host, say
from tui_host.errors import JSON, ServerError, SettingsError
from tui_host.host.host import Host
from tui_host.servers.catalog import READ
from tui_host.servers.login_store import LoginStore
from tui_host.servers.server_questions import ElicitationAnswer
from tui_host.settings.schema import Template

if TYPE_CHECKING:
    from tui_host.servers.server_questions import Elicitation, Login
    from tui_host.settings.schema import Settings

_METADATA_URL = "https://conformance-test.local/client-metadata.json"  # the client's id, where a server takes one
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
    ((name, spec),) = settings.servers.items()
    texts = {key: text_or_empty(context.get(key)) for key in ("client_id", "client_secret")}
    given = {key: Template(text=text, literal=True) for key, text in texts.items() if text}
    spec = replace(spec, enabled=True, sampling=True, client_metadata_url=_METADATA_URL, **given)
    settings = replace(settings, model=None, servers={name: spec})  # the demo model answers what servers ask of a model
    host = Host(settings, source="ask", record=False)
    consent = Namespace(elicit=(), confirm=True, sampling=True)
    host.answerer, host.logins = Consents(consent, partial(say, host)), LoginStore()  # each scenario begins logged out
    return run_host(host, lambda _: _use(host, context))


async def _use(host: Host, context: Mapping[str, JSON]) -> int:
    """Call what the suite wants to see called, else every tool, and fill in the prompts without arguments."""
    from tui_host.chat.calls import call_directly  # brings anyio, which the first frame need not wait for

    status = await only_server(host)
    (pool, recorder), session = opened(host), host.sessions.new()
    await pool.listed(LIST_SECONDS)
    offered = {tool.name: tool for tool in pool.tools()}
    asked = [mapping(call) for call in items(context.get("toolCalls"))]
    calls = [(text_or_empty(call.get("name")), mapping(call.get("arguments"))) for call in asked]
    is_of_schemas = host.settings.environment.get("MCP_CONFORMANCE_SCENARIO") == _SCHEMA_SCENARIO
    for name, tool in () if calls else offered.items():
        arguments = mapping(sample(tool.schema, optional=True))
        if name == READ:
            calls += [(READ, {"uri": item.uri}) for item in tool.resources or () if not item.is_template]
        elif is_of_schemas and "schema" in arguments:
            calls.append((name, {"schema": next(other.schema for other in offered.values() if other is not tool)}))
        else:
            calls.append((name, arguments))
    for name, arguments in calls:
        if name not in offered:
            raise ServerError(f"no tool {name}", status.name, sent=False)
        try:
            await call_directly(pool, recorder, session, offered[name], canonical(arguments))
        except ServerError as error:
            if not error.sent:
                raise
            say(host, str(error))  # a refusal is an answer too: the suite judges by what was sent
    for prompt in pool.statuses()[0].prompts:
        if not any(argument.required for argument in prompt.arguments):  # which texts it takes is not told
            await pool.get_prompt(status.name, prompt.name, {}, place=session.place(step=0))
    return diagnostics.DONE


def sample(schema: JSON, *, optional: bool = False) -> JSON:
    """Return a value for a schema: its default, its first choice, or a plain one; `optional` fills in all of an object."""
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
    required = items(known.get("required"))
    return {
        name: sample(member, optional=optional)
        for name, member in mapping(known.get("properties")).items()
        if optional or name in required or "default" in mapping(member)
    }


class Consents(FlagAnswerer):
    """Answers in the person's place: yes to every question, with defaults."""

    @override
    async def elicit(self, request: Elicitation) -> ElicitationAnswer:
        content = None if request.schema is None else mapping(sample(request.schema))
        return ElicitationAnswer(action="accept", content=content)

    @override
    async def log_in(self, login: Login) -> str | None:
        import anyio

        return await anyio.to_thread.run_sync(visit, login.url)


def visit(url: str) -> str | None:
    """Visit a login's page as a browser would, and return the address that it redirects to, None without one."""
    # By hand: the redirect is the answer, and an HTTP client would follow it.
    place = urlsplit(url)
    connection = HTTPConnection(place.hostname or "", place.port, timeout=10)
    try:
        connection.request("GET", f"{place.path}?{place.query}")
        return connection.getresponse().getheader("location")
    finally:
        connection.close()
