"""Resolves a server spec to a command or an address."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tui_host.errors import SettingsError
from tui_host.guard.child_process import ChildCommand
from tui_host.settings.environment_references import listed_environment, resolve, resolve_headers
from tui_host.settings.schema import ServerSpec, Template
from tui_host.settings.urls import check_url


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A resolved server: a program to start, which may print its URL, or an address."""

    command: ChildCommand | None = None
    url: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)


def resolve_endpoint(spec: ServerSpec, environment: Mapping[str, str]) -> Endpoint:
    """Fill in the references of a spec; raises SettingsError where one has no value, or one that cannot be used."""
    where = f"servers.{spec.name}"

    def filled(template: Template, key: str) -> str:
        return resolve(template, environment, where=f"{where}.{key}").text

    if spec.bundled is not None:
        # -P: otherwise a file of that name in the working directory would run instead of our module
        bundled = [sys.executable, "-P", "-m", "tui_host.demo.servers", str(spec.bundled)]
        if spec.transport != "stdio":
            bundled += ["--http", "--lifeline"]
        return Endpoint(command=ChildCommand(argv=tuple(bundled), environment=child_environment(spec, environment)))
    if spec.url is not None:
        url = filled(spec.url, "url")
        check_url(url, allow_http=spec.allow_http, where=f"{where}.url")
        return Endpoint(url=url, headers=resolve_headers(spec.headers, environment, where=f"{where}.headers"))
    if spec.command is None:
        raise SettingsError("no command, no url and no bundled", where, "say with one of them how to reach the server")
    argv = (filled(spec.command, "command"), *(filled(argument, "args") for argument in spec.args))
    cwd = None if spec.cwd is None else Path(filled(spec.cwd, "cwd")).expanduser()
    return Endpoint(command=ChildCommand(argv=argv, environment=child_environment(spec, environment), cwd=cwd))


def child_environment(spec: ServerSpec, environment: Mapping[str, str]) -> dict[str, str]:
    """Return a stdio server's complete environment: `CHILD_VARIABLES`, and the server's own `env`; raises as `resolve` does."""
    variables = listed_environment(environment)
    for name, template in spec.env.items():
        variables[name] = resolve(template, environment, where=f"servers.{spec.name}.env.{name}").text
    return variables
