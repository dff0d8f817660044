"""Prepares heads for the next hop: removes headers for a single connection, and sets the upstream's host and origin."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tui_host.tap.message_framing import Framing
from tui_host.tap.message_heads import Field, RequestHead, ResponseHead, new_field

_OF_ONE_HOP = frozenset((b"proxy-connection", b"proxy-authorization", b"proxy-authenticate", b"te", b"upgrade"))
"""Headers for a single hop, besides those named in `Connection`. `Keep-Alive` passes, since both connections last equally long. Source: RFC 9110, 7.6.1."""
_NEVER_NAMED = frozenset((b"host", b"content-length", b"transfer-encoding", b"content-type", b"content-encoding"))
"""Headers that stay even if `Connection` names them, since the message depends on them."""
_OF_BOTH = frozenset((b"close", b"keep-alive"))
"""Options of `Connection` that are true for both of the relay's connections."""
_FRAMES = frozenset((b"content-length", b"transfer-encoding"))


def to_upstream(head: RequestHead, *, host: bytes, origin: bytes, own_origins: frozenset[bytes]) -> RequestHead:
    """Return a request's head for the upstream, without the headers meant only for the relay.

    Args:
        head: The client's head.
        host: The value for the Host header.
        origin: The upstream's origin, which replaces the tap's own.
        own_origins: The origins of the tap.

    Raises:
        HeadError: A value contains a line break.
    """

    def changed() -> Iterator[Field]:
        for field in _passed_on(head.fields, head.options, upgrades=head.wants_websocket):
            key = field.name.lower()
            if key == b"host":
                yield field.with_value(host)
            elif key == b"origin" and field.value in own_origins:
                yield field.with_value(origin)
            else:
                yield field

    return replace(head, fields=tuple(changed()))


def to_client(head: ResponseHead, *, changed_to: Framing | None = None) -> ResponseHead:
    """Return a response's head for the client, without the headers meant only for the relay.

    Args:
        head: The upstream's head.
        changed_to: The framing of a body that the relay changes; None for an unchanged body.
    """
    fields = _passed_on(head.fields, head.options, upgrades=head.status == 101)
    match changed_to:
        case "chunked":
            left = (field for field in fields if field.name.lower() not in _FRAMES)
            passed = (*left, new_field(b"Transfer-Encoding", b"chunked"))
        case "close":
            left = (field for field in fields if field.name.lower() not in _FRAMES | {b"connection", b"keep-alive"})
            passed = (*left, new_field(b"Connection", b"close"))
        case _:
            passed = tuple(fields)
    return replace(head, fields=passed)


def _passed_on(fields: tuple[Field, ...], options: frozenset[bytes], *, upgrades: bool) -> Iterator[Field]:
    """Yield the headers for the next hop. `Connection` keeps only options that are true for the next hop too."""
    gone = (_OF_ONE_HOP | options) - _NEVER_NAMED - _OF_BOTH
    if upgrades:
        gone -= {b"upgrade"}
    for field in fields:
        key = field.name.lower()
        if key == b"connection":
            options_here = [option.strip() for option in field.value.split(b",")]
            left = [option for option in options_here if option.lower() not in gone]
            if left:
                yield field if len(left) == len(options_here) else field.with_value(b", ".join(left))
        elif key not in gone:
            yield field
