"""Secrets in the heads of HTTP by their place: which headers and parts of URLs are credentials, and what they are called."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection, Iterator
from urllib.parse import unquote_plus

from tui_host.capture.record import Head
from tui_host.settings.credential_names import (
    PROTOCOLS,
    REDIRECT_KEYS,
    SCHEMES,
    SESSION_KEYS,
    credential_in,
    credentials_in_protocols,
    is_credential_by_value,
    is_credential_header,
    is_credential_value,
    is_lasting,
    is_one_time,
    parts_of_credential,
    several_in,
)
from tui_host.settings.credential_places import Span, beside_origin, in_url, password_in, said


def in_header(name: str, value: str, also: Collection[str]) -> list[Span]:
    """Where credentials stand in a header's value, a scheme before one left out.

    Args:
        name: The header's, in lower case.
        value: Its value.
        also: Headers that are credentials whatever they are called.
    """
    is_named = name in also or is_credential_header(name)
    if is_named or is_credential_value(value) or is_credential_by_value(name, value) or is_one_time(name, value):
        scheme, space, _ = value.partition(" ")
        start = len(scheme) + 1 if space and scheme.lower() in SCHEMES else 0
        return [Span(start, len(value), name)]
    if name == "origin":
        return beside_origin(value)
    if name == PROTOCOLS:
        return [
            Span(at := value.index(credential), at + len(credential), place)
            for place, credential in credentials_in_protocols(value)
        ]
    several = [Span(*match.span(), name) for match in several_in(name, value)]
    return several or in_url(value, REDIRECT_KEYS if name == "location" else ())


def shown_by(head: Head) -> Iterator[tuple[str, str]]:
    """Names and values of the credentials that a request's head shows, which may be said again anywhere: none of a session's."""
    for name, value in head.headers:
        key = name.lower()
        is_one = is_credential_header(key) or is_credential_by_value(key, value)
        if is_credential_value(value) or (is_one and is_lasting(key)):
            credential = credential_in(value).strip()
            yield key, credential
            yield from ((key, part) for part in parts_of_credential(value))
            yield from _in_basic(value, credential)
        elif key == PROTOCOLS:
            yield from credentials_in_protocols(value)
        elif not is_credential_header(key):
            yield from _in_urls(value)
            yield from ((key, match[0]) for match in several_in(key, value))
    yield from _in_urls(head.url or "")


def _in_urls(text: str) -> Iterator[tuple[str, str]]:
    for span in in_url(text):
        if span.name.lower() in SESSION_KEYS:
            continue
        value = text[span.start : span.end]
        for each in said(value):
            yield span.name, password_in(each) if span.name == "userinfo" else each


def _in_basic(value: str, credential: str) -> Iterator[tuple[str, str]]:
    """The password in a header of Basic authentication. Source: RFC 7617; RFC 6749, section 2.3.1, where it is encoded as in a form."""
    if value[:6].lower() != "basic ":
        return
    try:
        password = base64.b64decode(credential, validate=True).decode().partition(":")[2]
    except (binascii.Error, UnicodeDecodeError):
        return
    yield "basic", password
    yield "basic", unquote_plus(password)
