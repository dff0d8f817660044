"""Heads on their way: lines unchanged, except headers for a single connection and headers that must lead elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tui_host.tap.message_framing import Framing
from tui_host.tap.message_heads import Field, RequestHead, ResponseHead, made

_OF_ONE_HOP = frozenset((b"proxy-connection", b"proxy-authorization", b"proxy-authenticate", b"te", b"upgrade"))
"""Headers for a single hop, besides those named in `Connection`. `Keep-Alive` passes, since both connections last equally long. Source: RFC 9110, 7.6.1."""
_NEVER_NAMED = frozenset((b"host", b"content-length", b"transfer-encoding", b"content-type", b"content-encoding"))
"""Headers that `Connection` cannot remove without changing the message."""
_OF_BOTH = frozenset((b"close", b"keep-alive"))
"""Options of `Connection` that apply to both connections."""
_FRAMES = frozenset((b"content-length", b"transfer-encoding"))


def to_upstream(head: RequestHead, *, host: bytes, origin: bytes, own_origins: frozenset[bytes]) -> RequestHead:
    """A request's head for the upstream, without the headers of this hop.

    Args:
        head: The client's head.
        host: The upstream's Host header.
        origin: The upstream's origin, to replace the tap's own.
        own_origins: The tap's own origins.

    Raises:
        HeadError: A value contains a line break.
    """

    def changed() -> Iterator[Field]:
        for field in _passed_on(head.fields, head.options, upgrades=head.wants_websocket):
            key = field.name.lower()
            if key == b"host":
                yield field.having(host)
            elif key == b"origin" and field.value in own_origins:
                yield field.having(origin)
            else:
                yield field

    return replace(head, fields=tuple(changed()))


def to_client(head: ResponseHead, *, changed_to: Framing | None = None) -> ResponseHead:
    """A response's head for the client, without the headers of the upstream's hop.

    Args:
        head: The upstream's head.
        changed_to: The framing of a changed body; None for an unchanged body.
    """
    fields = _passed_on(head.fields, head.options, upgrades=head.status == 101)
    match changed_to:
        case "chunked":
            left = (field for field in fields if field.name.lower() not in _FRAMES)
            passed = (*left, made(b"Transfer-Encoding", b"chunked"))
        case "close":
            left = (field for field in fields if field.name.lower() not in _FRAMES | {b"connection", b"keep-alive"})
            passed = (*left, made(b"Connection", b"close"))
        case _:
            passed = tuple(fields)
    return replace(head, fields=passed)


def _passed_on(fields: tuple[Field, ...], options: frozenset[bytes], *, upgrades: bool) -> Iterator[Field]:
    """The headers for both hops. `Connection` keeps options that apply to the next hop too."""
    gone = (_OF_ONE_HOP | options) - _NEVER_NAMED - _OF_BOTH
    if upgrades:
        gone -= {b"upgrade"}
    for field in fields:
        key = field.name.lower()
        if key == b"connection":
            options_here = [option.strip() for option in field.value.split(b",")]
            left = [option for option in options_here if option.lower() not in gone]
            if left:
                yield field if len(left) == len(options_here) else field.having(b", ".join(left))
        elif key not in gone:
            yield field
