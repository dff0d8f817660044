"""`servers add`, `remove`, `enable` and `disable`: change the files that the app saves, never the user's own file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_host.capture.visible import line
from tui_host.cli import diagnostics
from tui_host.cli.terminal_question import ask_on_terminal
from tui_host.errors import SettingsError
from tui_host.servers.catalog import describe
from tui_host.settings.mistakes import nearest
from tui_host.settings.registry_entry import Wanted, table_of
from tui_host.settings.save import save_switches
from tui_host.settings.server_entries import add_entry, read_entry, remove_entry
from tui_host.settings.table_reader import is_table
from tui_host.settings.toml_files import shown_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui_host.cli.arguments import Arguments
    from tui_host.settings.schema import Settings


def change_servers(arguments: Arguments, settings: Settings) -> int:
    """Carry out the subcommand and return the exit code.

    Raises:
        SettingsError: The server is unknown, is configured in the user's own file, or the arguments are invalid.
    """
    if arguments.action == "add":
        name, *rest = arguments.words
        words = (*rest, *arguments.server)
        if arguments.registry and words:
            raise SettingsError("a command and --registry", "servers add", "leave one out")
        if arguments.registry:
            add_server(settings, name, _registered(arguments, settings))
        else:
            add_server(settings, name, typed_entry(words, arguments.env, arguments.header))
        return diagnostics.DONE
    is_switch = arguments.action in {"enable", "disable"}
    for name in arguments.words:
        if (name.partition(".")[0] if is_switch else name) not in settings.servers:
            raise SettingsError(f"no server {name}", "servers", nearest(name, tuple(settings.servers)))
    if arguments.action == "remove":
        for name in arguments.words:
            diagnostics.tell(f"{name} is removed: {shown_path(remove_entry(settings, name))} is deleted")
        return diagnostics.DONE
    is_on = arguments.action == "enable"
    save_switches(settings, dict.fromkeys(arguments.words, is_on))
    for name in arguments.words:
        diagnostics.tell(f"{name} is {arguments.action}d")
        spec = settings.servers.get(name)
        if is_on and spec is not None and not spec.enabled:
            diagnostics.tell(f"it runs: {describe(spec)}")
    return diagnostics.DONE


def typed_entry(words: Sequence[str], env: Sequence[str], headers: Sequence[str]) -> dict[str, object]:
    """Return the table of a server typed as a URL, or as a command with its arguments.

    Raises:
        SettingsError: There is no URL and no command, or a variable or header has no name or value.
    """
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


def _registered(arguments: Arguments, settings: Settings) -> dict[str, object]:
    """Return the table of a registry's entry; values come from options, or from asking on a terminal."""
    from tui_host.cli.registry_request import registry_entry

    typed = _pairs("--set", "=", arguments.set)
    env, headers = _pairs("--env", "=", arguments.env), _pairs("--header", ":", arguments.header)

    def ask(wanted: Wanted) -> str:
        for values in (typed, env, headers):
            if wanted.name in values:
                return values[wanted.name]
        choices = f", one of {', '.join(wanted.choices)}" if wanted.choices else ""
        default = f" (enter: {wanted.default})" if wanted.default else ""
        words = line(f"{wanted.name}: {wanted.description}{choices}{default}", 300)
        return ask_on_terminal(f"{words}\n> ") or ""

    table = table_of(registry_entry(settings.registry, arguments.registry), ask)
    for key, values in (("env", env), ("headers", headers)):
        own = table.get(key)
        if values:
            table[key] = {**(own if is_table(own) else {}), **values}
    return table


def add_server(settings: Settings, name: str, table: dict[str, object]) -> None:
    """Write a server's own file, and say what it will run."""
    path = add_entry(settings, name, table)
    spec, notices = read_entry(name, table)
    state = "" if spec.enabled else f", disabled; tui-host servers enable {name} starts it"
    diagnostics.tell(f"{name} is written to {shown_path(path)}{state}")
    diagnostics.tell(f"it runs: {describe(spec)}" if spec.command else f"it connects to {describe(spec)}")
    unset = dict.fromkeys(
        name for template in (*spec.env.values(), *spec.headers.values()) for name in template.references
    )
    for variable in unset.keys() - settings.environment.keys():
        diagnostics.tell(f"set the environment variable {variable} before it starts")
    for notice in notices:
        diagnostics.tell(notice)
    if settings.default_servers:
        diagnostics.tell("the bundled servers stop: they run only while no server is configured")
