"""Finds credentials by their position: in URLs and headers, in commands, and in environment variables."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain
from typing import NamedTuple
from urllib.parse import unquote_plus

from tui_host.settings.sensitivity import SCHEMES, Place, is_of_words, is_telling, sensitivity

_USERINFO = re.compile(r"(?<![\w+.-])[A-Za-z][\w+.-]*:(?:\\?/){2}([^/?#\s\"']+)@")
# A URL parameter with its value. The value may contain separators, unless another parameter or a link's bracket follows.
_PARAMETER = re.compile(r"[?&;#]([^=&;#?]+)=(?![;?][^=&;#?>]+=)([^&#]+?)(?=[&#]|>\s*(?:[;,]|$)|[;?][^=&;#?>]+=|$)")
# The same two in a URL that is the encoded value of a parameter.
_IN_ENCODED = (
    re.compile(r"%3A%2F%2F((?:(?!%2F|%3F|%40)[^/?&\s])+)()%40", re.IGNORECASE),
    re.compile(r"%(?:3F|26|23)([\w.-]+)%3D((?:(?!%26|%23)[^&\s\"'])+)", re.IGNORECASE),
)
# A name with its value, as in `KEY=x`, `Authorization: Bearer x`, `"key": "x"` and `Server=a;Password='x'`. The value is only
# looked at, so that a name inside of it is found too, as in `--header=Authorization: x`.
_NAMED = re.compile(
    r"(?<![\w.-])([\w.-]++)[\"']?\s*[=:]\s*"
    rf"(?=\"((?:[^\"\\]|\\.)+)\"|'((?:[^'\\]|\\.)+)'|((?:(?:{'|'.join(SCHEMES)})\s+)?[^\s;,\"'{{}}]+))",
    re.IGNORECASE,
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
# A login without a URL's scheme, as in `a:b@tcp(c.example)/d` and `a:b@c.example:80`.
_LOGIN = re.compile(r"\s*[^\s:@/]*:(?!//)(\S+)@(?:\w+\(|[\w.-]+:\d{1,5}(?:[/?]|$))")
_PLAIN = re.compile(r"[\w.@+-]+")
_OPAQUE = re.compile(r"[\w.~+/=-]+")
# Names whose value may be a user name followed by a password.
_USER = re.compile(r"(?:.*[^a-z])?user|u", re.IGNORECASE)
# Names whose value tells the file, the variable or the name of a credential instead of the credential.
_ELSEWHERE = re.compile(
    r".*[^a-z](?:file|path|dir|folder|name|env|var|header|prefix|store|sock|socket|ring|helper|command|cmd)s?",
    re.IGNORECASE,
)
_REFERENCE = re.compile(r"(?:\$(?:[A-Z_][A-Z0-9_]*|\{[^{}]*\}|\([^()]*\)))+")
# A path: several parts, or a single part with a suffix. A value that only begins with a slash may be a key.
_PATH = re.compile(r"(?:\.{1,2}|~[\w.-]*|[A-Za-z]:)?(?:(?:[/\\][\w.@ ()+,-]+){2,}[/\\]?|[/\\][\w@ -]*\.\w+)")
# A shell's variables for the current and previous folder: no passwords, despite `PWD` in their names.
_WORKING = frozenset(("PWD", "OLDPWD"))
_PASSWORD = re.compile(r"passw|pwd|pass\b|secret", re.IGNORECASE)


class CredentialSpan(NamedTuple):
    """Where a credential stands in a text."""

    start: int
    end: int
    name: str


def in_url(url: str, also: Collection[str] = ()) -> list[CredentialSpan]:
    """Find credentials in URLs, in order, without overlap: user and password, values of telling keys and of those in `also`."""
    spans = [CredentialSpan(*match.span(1), "userinfo") for match in _USERINFO.finditer(url)] if "@" in url else []
    for match in chain(
        _PARAMETER.finditer(url) if "=" in url else (),
        *(pattern.finditer(url) for pattern in _IN_ENCODED if "%" in url),
    ):
        name = unquote_plus(match[1])
        if not match[2]:
            spans.append(CredentialSpan(*match.span(1), "userinfo"))
        elif name.lower() in also or sensitivity(name, unquote_plus(match[2]), "query") == "remove":
            spans.append(CredentialSpan(*match.span(2), match[1]))
    apart: list[CredentialSpan] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if not apart or span.start >= apart[-1].end:
            apart.append(span)
    return apart


def said(value: str) -> tuple[str, str]:
    """Return the spellings of a URL value that may appear elsewhere: decoded once, and twice for a URL inside a URL."""
    plain = unquote_plus(value)
    return plain, unquote_plus(plain)


def in_words(words: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield names and values of credentials on a command line: after options, in assignments, headers, URLs and JSON."""
    option = ""
    for word in words:
        if option and not word.startswith("-"):
            yield from _given(option, word)
        yield from _in_text(word)
        option = word if word.startswith("-") and "=" not in word else ""


def in_variables(environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield names and values of credentials in an environment: variables named for credentials, and parts of values."""
    for name, value in environment.items():
        if name not in _WORKING:
            yield from _given(name, value, "variable")
        for _, part in _in_text(value):
            yield name, part


def password_in(userinfo: str) -> str:
    """Return the secret part of the text before a URL's `@`: the part after the colon, or all of it without a colon."""
    name, colon, password = userinfo.partition(":")
    return unquote_plus(password if colon else name)


def credential_in(value: str) -> str:
    """Return a header's value without its authentication scheme."""
    scheme, space, rest = value.partition(" ")
    return rest if space and scheme.lower() in SCHEMES else value


def _in_text(text: str) -> Iterator[tuple[str, str]]:
    for span in in_url(text):
        value = text[span.start : span.end]
        values = [password_in(value)] if span.name == "userinfo" else said(value)
        yield from ((span.name, decoded) for decoded in values)
    for match in () if "://" in text else _NAMED.finditer(text):
        quoted = match[2] or match[3]
        yield from _given(match[1], _ESCAPED.sub(r"\1", quoted) if quoted else match[4])
    login = _LOGIN.match(text)
    if login and _tells(login[1]):
        yield "login", unquote_plus(login[1])


def _given(name: str, value: str, place: Place = "setting") -> Iterator[tuple[str, str]]:
    name, value = name.strip("- "), credential_in(value).strip()
    is_one = sensitivity(name, place=place) == "remove"
    is_path = _PATH.fullmatch(value) is not None and is_of_words(value)
    is_elsewhere = is_path or _REFERENCE.fullmatch(value) or _ELSEWHERE.fullmatch(name)
    if is_elsewhere or not (is_one or _USER.fullmatch(name)):
        return
    before, _, behind = value.partition(":")
    if _tells(behind) and _PLAIN.fullmatch(before) and not behind.startswith("//"):
        yield name, behind
    if is_one and (_PASSWORD.search(name) or _tells(value)):
        yield name, value
    several = value.split(",")
    if is_one and len(several) > 1 and all(map(_OPAQUE.fullmatch, several)):
        yield from ((name, part) for part in several if _tells(part))


def _tells(value: str) -> bool:
    return is_telling(value) and not value.isdigit()
