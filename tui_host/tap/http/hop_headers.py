"""Heads on their way: lines unchanged, except headers for a single connection and headers that must lead elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tui_host.tap.message_framing import Framing
from tui_host.tap.message_heads import Field, RequestHead, ResponseHead, made

_OF_ONE_HOP = frozenset((b"proxy-connection", b"proxy-authorization", b"proxy-authenticate", b"te", b"upgrade"))
"""Besides what `Connection` names; not `Keep-Alive`: here a connection lasts as long as the other. Source: RFC 9110, section 7.6.1."""
_NEVER_NAMED = frozenset((b"host", b"content-length", b"transfer-encoding", b"content-type", b"content-encoding"))
"""What no `Connection` header takes away: without it the message would be another."""
_OF_BOTH = frozenset((b"close", b"keep-alive"))
"""What `Connection` says of both connections: the one ends as the other does."""
_FRAMES = frozenset((b"content-length", b"transfer-encoding"))


def to_upstream(head: RequestHead, *, host: bytes, origin: bytes, own_origins: frozenset[bytes]) -> RequestHead:
    """A request's head for the upstream, without the headers of this hop.

    Args:
        head: As the client sent it.
        host: The upstream's Host header.
        origin: The upstream's origin, which stands in for the tap's own.
        own_origins: The tap's own origins.

    Raises:
        HeadError: On the wire it would be another.
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
        head: As the upstream sent it.
        changed_to: How a body that is changed is framed towards the client; None for one that passes as it is.
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
