"""`servers list`, `export`, `add`, `remove`, `enable`, `disable`, `login`, `logout`: the configured servers, and changes to them."""

from __future__ import annotations

import math
import re
from argparse import Namespace
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tui_host.cli import diagnostics, options, output
from tui_host.cli.answerers import TerminalAnswerer
from tui_host.cli.hosting import chosen_servers, opened, run_host
from tui_host.errors import JSON, ServerError, SettingsError
from tui_host.host.host import Host
from tui_host.servers.catalog import describe
from tui_host.settings.credential_places import in_variables, in_words
from tui_host.settings.mistakes import nearest
from tui_host.settings.save import save_switches
from tui_host.settings.schema import REFERENCE
from tui_host.settings.sensitivity import sensitivity
from tui_host.settings.table_reader import shown_path
from tui_host.settings.tables import add_entry, read_entry, remove_entry

if TYPE_CHECKING:
    from tui_host.servers.login_store import LoginStore
    from tui_host.settings.schema import ServerSpec, Settings

ADD = """\
Add a server in a file of its own, servers.d/NAME.toml beside the configuration file.
Write secrets as '${NAME}': the value is read from the environment when the server starts."""


def add(parser: options.CommandParser) -> None:
    """Add the options."""
    match parser.command:
        case "servers list":
            parser.flag("--json", options.AS_JSON)
        case "servers export":
            form = '{"mcpServers": …}'
            parser.description = f"Print servers as {form}, the form that most hosts read. References stay ${{NAME}}."
            parser.words("*", "SERVER", "only these servers")
        case "servers add":
            parser.description = ADD
            parser.usage = "tui-host servers add [OPTIONS] NAME URL | NAME -- COMMAND…"
            parser.words("+", "NAME", "the server's name, then its URL or command")
            parser.option("--env", "NAME=VALUE", "an environment variable of the command", repeats=True)
            parser.option("--header", "NAME:VALUE", "a header of every request to the URL", repeats=True)
        case _:
            parser.words("+", "SERVER", "the servers' names")


def run(args: Namespace, settings: Settings) -> int:
    """Print or change the servers. Raises SettingsError if a name is unknown or taken, or the user's own file has it."""
    match args.command:
        case "servers list":
            diagnostics.tell(*settings.notices)
            rows: list[tuple[str, ...]] = [("NAME", "TRANSPORT", "STATE", "COMMAND OR URL")]
            listed: list[JSON] = []
            for spec in settings.servers.values():
                members = {"name": spec.name, "transport": spec.transport, "address": describe(spec)}
                listed.append({**members, "enabled": spec.enabled})
                rows.append((spec.name, spec.transport, "enabled" if spec.enabled else "disabled", describe(spec)))
            output.either(output.table(rows), {"servers": listed}, as_json=args.json)
        case "servers export":
            forms: dict[str, JSON] = {}
            for name in chosen_servers(settings.servers, args.words or tuple(settings.servers)):
                spec = settings.servers[name]
                if spec.bundled is None:
                    forms[name] = {**_common_form(spec), **({} if spec.enabled else {"disabled": True})}
                else:
                    diagnostics.tell(f"{name} is left out: other hosts do not have bundled servers")
            output.value({"mcpServers": forms})
        case "servers add":
            name, *words = args.words  # what stands behind `--` is in `server`
            _add(settings, name, (*words, *args.server), args)
        case "servers login" | "servers logout":
            return _log_in_or_out(settings, args.words, is_in=args.command == "servers login")
        case _:
            action = args.command.partition(" ")[2]
            for name in (name if action == "remove" else name.partition(".")[0] for name in args.words):
                if name not in settings.servers:
                    raise SettingsError(f"no server {name}", "servers", nearest(name, tuple(settings.servers)))
            if action != "remove":
                save_switches(settings, dict.fromkeys(args.words, action == "enable"))  # all or none: one write
            for name in args.words:
                if action == "remove":
                    diagnostics.tell(f"{name} is removed: {shown_path(remove_entry(settings, name))} is deleted")
                    continue
                diagnostics.tell(f"{name} is {action}d")
                spec = settings.servers.get(name)
                if action == "enable" and spec is not None and not spec.enabled:
                    diagnostics.tell(f"it runs: {describe(spec)}")
    return diagnostics.DONE


def _add(settings: Settings, name: str, words: Sequence[str], args: Namespace) -> None:
    """Add a server typed as a URL, or as a command with its arguments; SettingsError if neither is there."""
    if not words:
        raise SettingsError("no command and no URL", "servers add", "write tui-host servers add NAME -- COMMAND…")
    table: dict[str, object] = {"command": words[0], "args": list(words[1:])}
    if len(words) == 1 and "://" in words[0]:
        table = {"url": words[0]}
    if args.env:
        table["env"] = options.pairs(args.env, "servers add --env", "NAME=VALUE")
    if args.header:
        table["headers"] = options.pairs(args.header, "servers add --header", "NAME:VALUE")
    path = add_entry(settings, name, table)
    spec, notices = read_entry(name, table)
    diagnostics.tell(f"{name} is written to {shown_path(path)}")
    diagnostics.tell(f"it runs: {describe(spec)}" if spec.command else f"it connects to {describe(spec)}")
    diagnostics.tell(*notices)
    if settings.default_servers:
        diagnostics.tell("the bundled servers stop: they run only while no server is configured")


def _common_form(spec: ServerSpec) -> dict[str, JSON]:
    """Return a server in the form that most hosts read, with a reference in place of each secret that is written out."""
    if spec.command is None:
        url = "" if spec.url is None else spec.url.text
        form: dict[str, JSON] = {"type": spec.transport, "url": _referring(spec, url, in_words([url]))}
        if spec.headers:
            form["headers"] = {
                name: _referring(spec, value.text, [(name, value.text)] if sensitivity(name) == "remove" else [])
                for name, value in spec.headers.items()
            }
        return form
    words = [word.text for word in spec.args]
    form = {"command": spec.command.text, "args": [_referring(spec, word, in_words(words)) for word in words]}
    if spec.env:
        texts = {name: value.text for name, value in spec.env.items()}
        form["env"] = {name: _referring(spec, text, in_variables({name: text})) for name, text in texts.items()}
    if spec.cwd is not None:
        form["cwd"] = spec.cwd.text
    return form


def _referring(spec: ServerSpec, text: str, secrets: Iterable[tuple[str, str]]) -> str:
    """Replace secrets by references; `secrets` has names and values. A variable keeps its name, others get the server's."""
    for name, value in secrets:
        if value in text and not REFERENCE.search(value):
            own = re.sub(r"\W+", "_", f"{spec.name}_{name.strip('-')}", flags=re.ASCII).upper()
            reference = f"${{{name if name in spec.env else own}}}"
            diagnostics.tell(f"servers.{spec.name} holds a secret itself ({name}); it is exported as {reference}")
            text = text.replace(value, reference)
    return text


def _log_in_or_out(settings: Settings, names: Sequence[str], *, is_in: bool) -> int:
    from tui_host.servers.login_store import LoginStore
    from tui_host.servers.server_endpoint import resolve_endpoint  # brings anyio

    urls: dict[str, str] = {}
    for name in chosen_servers(settings.servers, names):
        urls[name] = resolve_endpoint(settings.servers[name], settings.environment).url
        if not urls[name]:
            raise SettingsError("only a server with a url takes a login", f"servers.{name}")
    logins = LoginStore(settings.data_dir)
    if is_in:
        return max(_log_in(settings, logins, name, url) for name, url in urls.items())
    for name, url in urls.items():
        diagnostics.tell(f"{name}: {'the login is forgotten' if logins.forget(url) else 'there was no login'}")
    return diagnostics.DONE


def _log_in(settings: Settings, logins: LoginStore, name: str, url: str) -> int:
    servers = {name: replace(settings.servers[name], enabled=True)}
    host = Host(replace(settings, servers=servers), source="ask", record=False)
    host.answerer, host.logins = TerminalAnswerer(), logins

    async def connect(_: object) -> int:
        import anyio

        pool, _ = opened(host)
        await pool.settled(math.inf)  # a person may take any time in the browser
        (status,) = pool.statuses()
        for notice in status.notices:
            diagnostics.tell(f"{name}: {notice}")
        if status.state != "ready":
            raise ServerError(status.detail or status.state, name)
        is_kept = bool(await anyio.to_thread.run_sync(logins.load, url))
        diagnostics.tell(f"{name}: {'logged in' if is_kept else 'connected; it asks for no login'}")
        return diagnostics.DONE

    return run_host(host, connect)
