"""Reads servers from the configuration and from the command line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath

from tui_host.errors import SettingsError
from tui_host.settings.mistakes import nearest, shown
from tui_host.settings.provider_tables import check_template_url, check_userinfo, read_headers
from tui_host.settings.schema import BUNDLED, LOG_LEVELS, MODES, TRANSPORTS, ServerSpec, Template, Transport
from tui_host.settings.table_reader import Table
from tui_host.settings.urls import check_url, split

SERVER_NAME = re.compile(r"(?!.*__)[\w-]{1,40}")

# Programs that start another program, whose name is an argument.
_LAUNCHERS = frozenset({"uvx", "npx", "bunx", "pipx", "uv", "npm", "bun", "deno", "node", "python", "run", "exec"})
_SECRET_VARIABLE = re.compile(r"(?:^|_)(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$", re.IGNORECASE)
_OF_LOGIN = ("client_id", "client_secret", "client_metadata_url", "redirect_port")
_NEEDS = {"command": ("args", "cwd"), "url": ("headers", "allow_http", *_OF_LOGIN)}


def read_server(name: str, table: Table) -> ServerSpec:
    """Read a server's table; mistakes go to the table's report."""
    if not SERVER_NAME.fullmatch(name):
        table.mistake(
            "",
            f'"{shown(name)}" is not a valid server name',
            "use 1 to 40 letters of any script, digits, - and _, without __",
        )
    command, url = table.template("command"), table.template("url", hidden=True)
    bundled = _bundled(table)
    transport = _transport(table, bundled)
    allow_http = table.flag("allow_http", default=False)
    if url is not None:
        check_template_url(table, "url", url, allow_http=allow_http)
    headers = read_headers(table.table("headers"))
    check_userinfo(table, "url", url, headers)
    spec = ServerSpec(
        name=name,
        transport=transport,
        command=command,
        args=table.templates("args"),
        env=_environment(table.table("env")),
        cwd=table.template("cwd"),
        url=url,
        headers=headers,
        enabled=table.flag("enabled", default=True),
        timeout=table.number("timeout", 60.0, zero=True),
        mode=table.choice("mode", MODES, "auto"),
        bundled=bundled,
        watch=table.texts("watch"),
        allow_http=allow_http,
        client_id=table.template("client_id"),
        client_secret=table.template("client_secret", hidden=True),
        client_metadata_url=table.text("client_metadata_url") or "",
        redirect_port=table.count("redirect_port", 0, least=0),
        file=table.file,
        sampling=table.flag("sampling", default=False),
        instructions=table.flag("instructions", default=False),
        roots=_roots(table),
        timeout_max=table.number("timeout_max", 600.0, zero=False),
        log_level=table.choice("log_level", ("", *LOG_LEVELS), ""),
    )
    _check_login(table, spec)
    _check_command(table, spec)
    table.finish()
    return spec


def server_from_arguments(url_or_command: Sequence[str] | str) -> ServerSpec:
    """Return the server of `tui-host URL` or `tui-host -- COMMAND…`, under a name made from the URL or the command.

    Args:
        url_or_command: A URL as text, or a program with its arguments. Used literally, without references or a shell.
            Plain http is permitted if typed.

    Raises:
        SettingsError: The URL is invalid, or there is no program.
    """
    if isinstance(url_or_command, str):
        check_url(url_or_command, allow_http=True, where="URL")
        parts = split(url_or_command)
        port = f"-{parts.port}" if parts.port is not None else ""
        return ServerSpec(
            name=server_name(f"{parts.hostname}{port}"),
            transport="sse" if parts.path.rstrip("/").endswith("/sse") else "http",
            url=Template(text=url_or_command, literal=True),
            allow_http=True,
        )
    command, *args = url_or_command or ("",)
    if not command:
        raise SettingsError("no program given", "COMMAND", "write tui-host -- PROGRAM ARGUMENTS")
    if any("\0" in word for word in url_or_command):
        raise SettingsError("a NUL character in an argument", "COMMAND", "remove it")
    return ServerSpec(
        name=server_name(_program(url_or_command)),
        command=Template(text=command, literal=True),
        args=tuple(Template(text=argument, literal=True) for argument in args),
    )


def server_name(text: str) -> str:
    """Return a valid server name made from a text; `server` if no valid character remains."""
    name = re.sub(r"[^\w]+", "-", text)
    return re.sub(r"_{2,}", "_", name)[:40].strip("-_") or "server"


def _program(words: Sequence[str]) -> str:
    """Return the word of a command that best names the server: the program, or what a launcher such as `npx` starts."""
    for word in words:
        stem = re.sub(r"(?<=.)@[^@]*$", "", PurePath(word).name)
        stem = re.sub(r"\.(?:py|js|mjs|cjs|ts|sh|exe)$", "", stem)
        if stem and not word.startswith("-") and re.sub(r"[\d.]+$", "", stem) not in _LAUNCHERS:
            return stem
    return PurePath(words[0]).name


def _bundled(table: Table) -> str | None:
    name = table.text("bundled")
    if name is not None and name not in BUNDLED:
        table.mistake("bundled", f'found "{shown(name)}", expected one of {", ".join(BUNDLED)}', nearest(name, BUNDLED))
    ways = [key for key in ("command", "url", "bundled") if key in table]
    if not ways:
        table.mistake("", "no command, url or bundled", "set one of them to say how to reach the server")
    for key in ways[1:]:
        table.mistake(key, f"conflicts with {ways[0]}", f"remove one: a server has {' or '.join(ways)}")
    for way, keys in _NEEDS.items():
        for key in keys:
            if key in table and ways and way not in ways:
                table.mistake(key, f"is only valid with {way}", "remove it")
    if "env" in table and "url" in table:
        table.mistake("env", "is only valid for a started process, not with url", "remove it")
    return name


def _transport(table: Table, bundled: str | None) -> Transport:
    default: Transport = "http" if "url" in table else "stdio"
    transport: Transport = table.choice("transport", TRANSPORTS, default)
    fitting: tuple[Transport, ...] = ("http", "sse") if "url" in table else ("stdio",)
    if bundled is not None:
        fitting = ("stdio", "http") if bundled == "weather" else ("stdio",)
    if transport not in fitting:
        way = f'bundled = "{shown(bundled)}"' if bundled is not None else "url" if "url" in table else "command"
        table.mistake(
            "transport", f'found "{transport}", which {way} does not support', f"write {' or '.join(fitting)}"
        )
    return transport


def _roots(table: Table) -> tuple[str, ...]:
    roots = table.texts("roots")
    for root in roots:
        if not root.startswith(("/", "~/")) or "\0" in root:
            table.mistake("roots", f'found "{shown(root)}", which is not a full path', "write it from / or ~/ on")
    return roots


def _environment(env: Table | None) -> dict[str, Template]:
    if env is None:
        return {}
    read = env.named_templates()
    for name, template in read.items():
        if not name or "=" in name or "\0" in name:
            env.mistake(name, "not a valid variable name", "use letters, digits and _")
        elif _SECRET_VARIABLE.search(name) and template.text and "${" not in template.text:
            env.report.notices.append(
                f"{env.where(name)}: the file contains the secret itself; "
                f'write "${{{shown(name)}}}" and set that variable instead'
            )
    return read


def _check_arguments(table: Table, arguments: Sequence[Template]) -> None:
    """Add a notice for credentials that are written directly into the arguments."""
    if not arguments:
        return
    from tui_host.settings.credential_places import in_words  # imported late: not needed before the first frame

    for name, _ in in_words(argument.text for argument in arguments):
        table.report.notices.append(
            f"{table.where('args')}: the file contains a credential itself ({shown(name)}); "
            'write "${NAME}" for it and set that variable instead'
        )


def _check_login(table: Table, spec: ServerSpec) -> None:
    url = spec.client_metadata_url
    if url and re.fullmatch(r"https://[^/?#\s]+/[^\s]+", url) is None:
        table.mistake("client_metadata_url", f'found "{shown(url)}"', "write an https address with a path")
    if spec.client_secret is not None and spec.client_id is None:
        table.mistake("client_secret", "there is no client_id", "write the id that the secret belongs to")
    if spec.redirect_port > 65535:
        table.mistake("redirect_port", f"found {spec.redirect_port}", "write a port: a number up to 65535")
    if spec.client_secret is not None and "${" not in spec.client_secret.text:
        table.report.notices.append(
            f"{table.where('client_secret')}: the file contains the secret itself; "
            'write "${NAME}" for it and set that variable instead'
        )


def _check_command(table: Table, spec: ServerSpec) -> None:
    if spec.command is None:
        return
    _check_arguments(table, spec.args)
    text = spec.command.text
    if not text.strip():
        table.mistake("command", "empty", "write the program's name")
    elif text.startswith("~"):
        table.report.notices.append(f"{table.where('command')}: ~ is not expanded here; write ${{HOME}}")
    elif "/" in text and not text.startswith(("/", "${")) and spec.cwd is None:
        table.report.notices.append(
            f"{table.where('command')}: a relative path depends on the folder tui-host is started in; write the full path"
        )
    elif " " in text.strip() and not spec.args and "/" not in text.partition(" ")[0]:
        table.report.notices.append(
            f"{table.where('command')}: the whole text is taken as the program's name; put arguments into args"
        )
