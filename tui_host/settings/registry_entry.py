"""Translates an entry of the MCP registry's API into a server's table.

Source: modelcontextprotocol/registry, `server.json` of 2025-12-11 and the registry API v0.1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tui_host.errors import SettingsError
from tui_host.settings.toml_files import is_array, is_table

_VARIABLE = re.compile(r"\{([A-Za-z_][\w-]*)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A value that an entry wants from the user.

    Attributes:
        name: The variable's, header's or argument's name.
        description: The publisher's description; untrusted.
        default: The publisher's default, empty if there is none.
        choices: The allowed values; empty for any.
    """

    name: str
    description: str = ""
    default: str = ""
    choices: tuple[str, ...] = ()


Ask = Callable[[Wanted], str]
"""Returns a value; empty if there is none."""


def table_of(entry: Mapping[str, object], ask: Ask) -> dict[str, object]:
    """Return the table of an entry's first package that can be started here, else of its first remote; switched off.

    Secrets become references to environment variables, and are never asked for.

    Args:
        entry: The `server.json`.
        ask: Asks for values that are required, or that have a default.

    Raises:
        SettingsError: The entry has neither, or a required value is missing.
    """
    for package in _tables(entry.get("packages")):
        kind = _text(package.get("registryType"))
        transport = package.get("transport")
        is_stdio = not is_table(transport) or _text(transport.get("type")) in {"", "stdio"}
        if kind in _COMMANDS and is_stdio and _text(package.get("identifier")):
            return {**_Filling(ask).package(kind, package), "enabled": False}
    remotes = sorted(_tables(entry.get("remotes")), key=lambda remote: _text(remote.get("type")) == "sse")
    for remote in remotes:
        if _text(remote.get("type")) in {"streamable-http", "sse"} and _text(remote.get("url")):
            return {**_Filling(ask).remote(remote), "enabled": False}
    kinds = {_text(package.get("registryType")) for package in _tables(entry.get("packages"))}
    offered = f"it has {', '.join(sorted(kinds))}" if kinds else "it has no package and no remote"
    raise SettingsError(
        f"the entry cannot be started here: {offered}", _text(entry.get("name")), "add its command by hand"
    )


def _npm(package: Mapping[str, object]) -> list[str]:
    return ["npx", "-y", _versioned(package, "@")]


def _pypi(package: Mapping[str, object]) -> list[str]:
    return ["uvx", _versioned(package, "@")]


def _oci(package: Mapping[str, object]) -> list[str]:
    identifier = _text(package.get("identifier"))
    has_version = ":" in identifier.rpartition("/")[2] or "@" in identifier
    return ["docker", "run", "-i", "--rm", identifier if has_version else _versioned(package, ":")]


def _versioned(package: Mapping[str, object], mark: str) -> str:
    identifier, version = _text(package.get("identifier")), _text(package.get("version"))
    return f"{identifier}{mark}{version}" if version else identifier


_COMMANDS = {"npm": _npm, "pypi": _pypi, "oci": _oci}


class _Filling:
    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def package(self, kind: str, package: Mapping[str, object]) -> dict[str, object]:
        *command, identifier = _COMMANDS[kind](package)
        env = {
            _text(variable.get("name")): value
            for variable in _tables(package.get("environmentVariables"))
            if (value := self._value(variable, _text(variable.get("name"))))
        }
        passed = [word for name in env for word in ("-e", name)] if kind == "oci" else []
        runtime = list(self._arguments(package.get("runtimeArguments")))
        words = [*command[1:], *passed, *runtime, identifier, *self._arguments(package.get("packageArguments"))]
        return {"command": command[0], "args": words, **({"env": env} if env else {})}

    def remote(self, remote: Mapping[str, object]) -> dict[str, object]:
        url = self._filled(_text(remote.get("url")), remote.get("variables"))
        headers = {
            _text(header.get("name")): value
            for header in _tables(remote.get("headers"))
            if (value := self._value(header, _text(header.get("name"))))
        }
        is_sse = _text(remote.get("type")) == "sse"
        return {
            "url": url,
            **({"transport": "sse"} if is_sse else {}),
            **({"headers": headers} if headers else {}),
        }

    def _arguments(self, arguments: object) -> Iterator[str]:
        for argument in _tables(arguments):
            name = _text(argument.get("name"))
            is_named = _text(argument.get("type")) == "named"
            if is_named and not {"value", "default", "valueHint", "format", "choices"} & argument.keys():
                yield from [name] if argument.get("isRequired") is True else []  # a flag
            elif value := self._value(argument, name.lstrip("-") or _text(argument.get("valueHint")) or "argument"):
                yield from [name, value] if is_named else [value]

    def _value(self, field: Mapping[str, object], name: str) -> str:
        """Return the value of an input: given, asked for, or a reference if it is secret; empty if it is not needed."""
        given, default = _text(field.get("value")), _text(field.get("default"))
        if given:
            return self._filled(given, field.get("variables"))
        if field.get("isSecret") is True:
            return f"${{{_variable(name)}}}" if field.get("isRequired") is True else ""
        if not default and field.get("isRequired") is not True:
            return ""
        choices = field.get("choices")
        wanted = Wanted(
            name=name,
            description=_text(field.get("description")),
            default=default,
            choices=tuple(map(str, choices)) if is_array(choices) else (),
        )
        value = self._ask(wanted) or default
        if not value:
            raise SettingsError(f"{name} has no value", "servers add --registry", f"add --set {name}=VALUE")
        return value

    def _filled(self, text: str, variables: object) -> str:
        known = variables if is_table(variables) else {}

        def value(match: re.Match[str]) -> str:
            field = known.get(match[1])
            return self._value(field, match[1]) if is_table(field) else match[0]

        return _VARIABLE.sub(value, text)


def _variable(name: str) -> str:
    return re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_").upper()


def _tables(values: object) -> Sequence[Mapping[str, object]]:
    return [value for value in values if is_table(value)] if is_array(values) else []


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
