"""`servers list`, `export`, `add`, `remove`, `enable` and `disable`: the configured servers, and changes to them.

Changes go to files that the app saves, never to the user's own file.
"""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tui_host.cli import diagnostics, options, output
from tui_host.cli.hosting import chosen_servers
from tui_host.errors import JSON, SettingsError
from tui_host.servers.catalog import describe
from tui_host.settings.credential_places import in_variables, in_words
from tui_host.settings.mistakes import nearest
from tui_host.settings.save import save_switches
from tui_host.settings.schema import REFERENCE
from tui_host.settings.sensitivity import sensitivity
from tui_host.settings.server_entries import add_entry, read_entry, remove_entry
from tui_host.settings.toml_files import shown_path

if TYPE_CHECKING:
    from tui_host.settings.schema import ServerSpec, Settings, Template

ADD = """\
Add a server in a file of its own, servers.d/NAME.toml beside the configuration file.
Write secrets as '${NAME}': the value is read from the environment when the server starts."""


def add(parser: options.CommandParser) -> None:
    """Add the options."""
    match parser.command:
        case "servers list":
            options.json_too(parser)
        case "servers export":
            form = '{"mcpServers": …}'
            parser.description = f"Print servers as {form}, the form that most hosts read. References stay ${{NAME}}."
            parser.words("*", "SERVER", "only these servers")
        case "servers add":
            parser.description = ADD
            parser.usage = "tui-host servers add [OPTIONS] NAME URL | NAME -- COMMAND…"
            parser.words("+", "NAME", "the server's name, then its URL or command")
            parser.several("--env", "NAME=VALUE", "an environment variable of the command")
            parser.several("--header", "NAME:VALUE", "a header of every request to the URL")
        case _:
            parser.words("+", "SERVER", "the servers' names")


def run(args: Namespace, settings: Settings) -> int:
    """Print or change the servers. Raises SettingsError if a name is unknown or taken, or the user's own file has it."""
    match args.command:
        case "servers list":
            _list(settings, as_json=args.json)
        case "servers export":
            _export(settings, chosen_servers(settings.servers, args.words or tuple(settings.servers)))
        case "servers add":
            name, *words = args.words
            add_server(settings, name, typed_entry((*words, *args.server), args.env, args.header))
        case _:
            _remove_or_switch(settings, args.words, args.command.partition(" ")[2])
    return diagnostics.DONE


def _list(settings: Settings, *, as_json: bool) -> None:
    diagnostics.tell_all(settings.notices)
    specs = settings.servers.values()
    if as_json:
        members = ("name", "transport", "address", "enabled")
        rows = ((spec.name, spec.transport, describe(spec), spec.enabled) for spec in specs)
        output.value({"servers": [dict(zip(members, row, strict=True)) for row in rows]})
    else:
        states = ((spec, "enabled" if spec.enabled else "disabled") for spec in specs)
        rows = [(spec.name, spec.transport, state, describe(spec)) for spec, state in states]
        output.table([("NAME", "TRANSPORT", "STATE", "COMMAND OR URL"), *rows])


def _remove_or_switch(settings: Settings, names: Sequence[str], action: str) -> None:
    is_removed, is_on = action == "remove", action == "enable"
    for name in names:
        if (name if is_removed else name.partition(".")[0]) not in settings.servers:
            raise SettingsError(f"no server {name}", "servers", nearest(name, tuple(settings.servers)))
    if not is_removed:
        save_switches(settings, dict.fromkeys(names, is_on))  # all or none: one write
    for name in names:
        if is_removed:
            diagnostics.tell(f"{name} is removed: {shown_path(remove_entry(settings, name))} is deleted")
            continue
        diagnostics.tell(f"{name} is {action}d")
        spec = settings.servers.get(name)
        if is_on and spec is not None and not spec.enabled:
            diagnostics.tell(f"it runs: {describe(spec)}")


def add_server(settings: Settings, name: str, table: dict[str, object]) -> None:
    """Write a server's own file, and say what it will run."""
    path = add_entry(settings, name, table)
    spec, notices = read_entry(name, table)
    diagnostics.tell(f"{name} is written to {shown_path(path)}")
    diagnostics.tell(f"it runs: {describe(spec)}" if spec.command else f"it connects to {describe(spec)}")
    templates = (*spec.env.values(), *spec.headers.values())
    for variable in dict.fromkeys(variable for template in templates for variable in template.references):
        if variable not in settings.environment:
            diagnostics.tell(f"set the environment variable {variable} before it starts")
    for notice in notices:
        diagnostics.tell(notice)
    if settings.default_servers:
        diagnostics.tell("the bundled servers stop: they run only while no server is configured")


def typed_entry(words: Sequence[str], env: Sequence[str], headers: Sequence[str]) -> dict[str, object]:
    """Return the table of a server typed as a URL, or as a command with its arguments; SettingsError if neither is there."""
    if not words:
        raise SettingsError("no command and no URL", "servers add", "write tui-host servers add NAME -- COMMAND…")
    table: dict[str, object] = {"command": words[0], "args": list(words[1:])}
    if len(words) == 1 and "://" in words[0]:
        table = {"url": words[0]}
    more = {"env": _pairs("--env", "=", env), "headers": _pairs("--header", ":", headers)}
    return {**table, **{key: values for key, values in more.items() if values}}


def _pairs(option: str, separator: str, pairs: Sequence[str]) -> dict[str, str]:
    values: dict[str, str] = {}
    for pair in pairs:
        name, mark, value = pair.partition(separator)
        if not mark or not name.strip():
            raise SettingsError(f"{name} has no value", f"servers add {option}", f"write NAME{separator}VALUE")
        values[name.strip()] = value.strip() if separator == ":" else value
    return values


def _export(settings: Settings, names: Sequence[str]) -> None:
    forms: dict[str, JSON] = {}
    for spec in (settings.servers[name] for name in names):
        if spec.bundled is None:
            forms[spec.name] = {**_common_form(spec), **({} if spec.enabled else {"disabled": True})}
        else:
            diagnostics.tell(f"{spec.name} is left out: other hosts do not have bundled servers")
    output.value({"mcpServers": forms})


def _common_form(spec: ServerSpec) -> dict[str, JSON]:
    """Return a server in the form that most hosts read, with a reference in place of each secret that is written out."""
    if spec.command is not None:
        words = _without_secrets(spec, [word.text for word in spec.args])
        form: dict[str, JSON] = {"command": spec.command.text, "args": words}
        secret = [name for name, value in spec.env.items() if any(in_variables({name: value.text}))]
        if spec.env:
            form["env"] = _values(spec, spec.env, {name: name for name in secret})
        if spec.cwd is not None:
            form["cwd"] = spec.cwd.text
        return form
    url = "" if spec.url is None else spec.url.text
    form = {"type": spec.transport, "url": _without_secrets(spec, [url])[0]}
    if spec.headers:
        secret = [name for name in spec.headers if sensitivity(name) == "remove"]
        form["headers"] = _values(spec, spec.headers, {name: _variable(spec, name) for name in secret})
    return form


def _values(spec: ServerSpec, values: Mapping[str, Template], variables: Mapping[str, str]) -> dict[str, JSON]:
    """Return variables or headers; those in `variables` that are written out are referred to by the name given there."""
    texts: dict[str, JSON] = {}
    for name, value in values.items():
        is_written_out = name in variables and not REFERENCE.search(value.text)
        texts[name] = _reference(spec, name, variables[name]) if is_written_out else value.text
    return texts


def _without_secrets(spec: ServerSpec, words: Sequence[str]) -> list[JSON]:
    secrets = {value: name for name, value in in_words(words) if not REFERENCE.search(value)}
    texts: list[JSON] = []
    for text in words:
        for value, name in secrets.items():
            if value in text:
                text = text.replace(value, _reference(spec, name, _variable(spec, name)))  # noqa: PLW2901 - step by step
        texts.append(text)
    return texts


def _variable(spec: ServerSpec, name: str) -> str:
    return re.sub(r"\W+", "_", f"{spec.name}_{name.strip('-')}", flags=re.ASCII).upper()


def _reference(spec: ServerSpec, name: str, variable: str) -> str:
    diagnostics.tell(f"servers.{spec.name} holds a secret itself ({name}); it is exported as ${{{variable}}}")
    return f"${{{variable}}}"
