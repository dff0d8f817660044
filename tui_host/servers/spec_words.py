"""A server spec in words: for people, without secrets, and for fingerprints."""

from __future__ import annotations

import shlex

from tui_host.settings.schema import ServerSpec


def describe(spec: ServerSpec) -> str:
    """The command or URL as a person may see it: references stay references, a URL's credentials and query are left out."""
    if spec.bundled is not None:
        return f"bundled {spec.bundled}"
    if spec.url is not None:
        scheme, _, rest = spec.url.text.partition("://")
        address = rest.partition("?")[0].partition("#")[0]
        host, slash, path = address.partition("/")
        return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"
    words = [] if spec.command is None else [spec.command.text, *(argument.text for argument in spec.args)]
    return shlex.join(words)


def identity(spec: ServerSpec) -> str:
    """What a tool's fingerprint binds it to: where it runs, as configured."""
    if spec.url is not None:
        return spec.url.text
    return describe(spec)
