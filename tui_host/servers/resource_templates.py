"""Fills in URI templates of resources. Source: RFC 6570; MCP 2025-11-25, Resources, Resource Templates."""

from __future__ import annotations

from collections.abc import Mapping

from tui_host.errors import ServerError


def variables(template: str) -> tuple[str, ...]:
    """Return the names of a template's variables, in order, without repeats.

    Raises:
        ServerError: The template cannot be read.
    """
    from mcp.shared.uri_template import UriTemplate  # late: only templates need the SDK here

    try:
        return tuple(dict.fromkeys(UriTemplate.parse(template).variable_names))
    except ValueError as error:
        raise ServerError(f"the server's template {template} cannot be read: {error}", sent=False) from error


def expand(template: str, values: Mapping[str, str]) -> str:
    """Return the URI of a template with these values; empty values are left out.

    Raises:
        ServerError: The template cannot be read or filled in.
    """
    from mcp.shared.uri_template import UriTemplate

    try:
        return UriTemplate.parse(template).expand({name: value for name, value in values.items() if value})
    except (ValueError, TypeError) as error:
        raise ServerError(f"the server's template {template} cannot be filled in: {error}", sent=False) from error
