"""Where credentials stand by their place: in URLs, in the words of a command, in the variables of an environment."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple
from urllib.parse import unquote_plus

from tui_host.settings.credential_names import (
    LONG_KEYS,
    ONE_TIME_KEYS,
    SCHEMES,
    is_credential_by_value,
    is_credential_key,
    is_credential_variable,
    is_of_words,
)

TELLING_FROM = 20
"""Characters from which a word without a digit is no common one: what hosts send where no key is wanted is a short word that texts have too."""

_USERINFO = re.compile(r"(?<![\w+.-])[A-Za-z][\w+.-]*:(?:\\?/){2}([^/?#\s\"']+)@")
_PARAMETER = re.compile(r"[?&;#]([^=&;#?]+)=(?![;?][^=&;#?>]+=)([^&#]+?)(?=[&#]|>\s*(?:[;,]|$)|[;?][^=&;#?>]+=|$)")
"""Its value may have any of these characters, but where another one begins with them, or a link that stands in brackets ends."""
_PIECE = re.compile(r"[^?&#;=\s<>\"']+")
_ENCODED = re.compile(r"%(?:25)*(?:3[dD]|40)")
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_LAYERS = 3
"""So often a URL may stand in another, or be encoded."""
_ASSIGNED = re.compile(r"\s*-{0,2}([\w.-]+)\s*[=:]\s*(\S.*)", re.DOTALL)
_NESTED = 8
"""So often what is assigned may be an assignment itself."""
_QUOTED = r"'(?:[^'\\]|\\.){0,120}'|\"(?:[^\"]|\"\"){0,120}\"|\{(?:[^}]|\}\}){0,120}\}"
_IN_LIST = re.compile(rf"(?:^|;)\s*([\w.-]+(?: +[\w.-]+)*)\s*=\s*((?:{_QUOTED})(?=\s*(?:;|$))|[^;]+)")
"""As in `Server=tcp:a.example;Password=b`, or `PWD={a;b}`."""
_IN_WORDS = re.compile(rf"(?:^|\s)([\w.-]+)\s*=\s*({_QUOTED}|[^\s;'\"{{]+)(?=\s+[\w.-]+\s*=|\s*$)")
"""As in `host=a.example user=b password='c d'`."""
_LOGIN = re.compile(
    r"\s*[^\s:@/]*:(?!//)(\S+)@\w+\(|\s*[^\s:@/]+:(?!//)([^\s/]+)@[\w.-]+:\d{1,5}(?:[/?]|$)|\s*jdbc:[\w:]+:[^\s:@/]*/(\S+)@"
)
"""As in `a:b@tcp(c.example)/d`, `a:b@c.example:80` and `jdbc:oracle:thin:a/b@c.example`."""
_PLAIN = re.compile(r"[\w.@+-]+")
_OPAQUE = re.compile(r"[\w.~+/=-]+")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_USER = re.compile(r"(?:.*[^a-z])?user|u", re.IGNORECASE)
"""What is so named may be one's name with the password behind it."""
_IN_JSON = re.compile(r"""(["'])([\w.-]+)\1\s*:\s*(?:"((?:[^"\\]|\\.)+)"|'((?:[^'\\]|\\.)+)')""")
"""Or what a shell has made of it, or another language."""
_ELSEWHERE = re.compile(
    r".*[^a-z](?:file|path|dir|folder|name|env|var|header|prefix|store|sock|socket|ring|helper|command|cmd)s?",
    re.IGNORECASE,
)
"""Of what is so named the value tells where a credential is, or what it is called."""
_REFERENCE = re.compile(r"(?:\$(?:[A-Z_][A-Z0-9_]*|\{[^{}]*\}|\([^()]*\)))+")
_PATH = re.compile(
    r"(?:(?:\.{1,2}|[A-Za-z]:)?(?:[/\\][\w.@ ()+,-]+){2,}|(?:\.{0,2}|[A-Za-z]:)[/\\][\w@ -]*\.\w+|~[\w.-]*(?:/[\w.@ ()+,-]+)+)/?"
)
"""What begins with a slash may be a key, or a password: a path has several parts, or its only one an ending."""
_WORKING = frozenset(("PWD", "OLDPWD"))
"""What a shell calls the folders where it is and was: no passwords, however they look."""
_PASSWORD = re.compile(r"passw|pwd|pass\b|secret", re.IGNORECASE)
_ORIGIN = re.compile(r"([A-Za-z][\w+.-]*://)(?:([^/?#\s]*)@)?([^/?#@\s]*)")


class Span(NamedTuple):
    """Where a credential stands in a text, and what its place calls it."""

    start: int
    end: int
    name: str


def is_telling(value: str) -> bool:
    """Whether a value is no common word, which texts have too."""
    return len(value) >= TELLING_FROM or not value.isascii() or any(map(str.isdigit, value))


def in_url(url: str, also: Collection[str] = (), layers: int = _LAYERS) -> list[Span]:
    """What is a credential in a URL, or in several: its userinfo, and what stands behind keys so named. In order, without overlap.

    Args:
        url: Also as JSON has it, where slashes may be escaped.
        also: More keys, in lower case.
        layers: How often those that stand in it may be encoded.
    """
    found = [Span(*match.span(1), "userinfo") for match in _USERINFO.finditer(url)] if "@" in url else []
    for match in _PARAMETER.finditer(url) if "=" in url else ():
        name = unquote_plus(match[1])
        is_long = name.lower() in LONG_KEYS and len(match[2]) >= TELLING_FROM
        is_named = name.lower() in ONE_TIME_KEYS or name.lower() in also or is_credential_key(name)
        if is_long or is_named or is_credential_by_value(name, unquote_plus(match[2])):
            found.append(Span(*match.span(2), match[1]))
    if layers and _ENCODED.search(url):
        for match in _PIECE.finditer(url):
            if _ENCODED.search(match[0]):
                found += _in_encoded(match[0], match.start(), also, layers - 1)
    if len(found) < 2:
        return found
    apart: list[Span] = []
    for span in sorted(found, key=lambda each: (each.start, -each.end)):
        if not apart or span.start >= apart[-1].end:
            apart.append(span)
    return apart


def _in_encoded(text: str, at: int, also: Collection[str], layers: int) -> list[Span]:
    """What is a credential in a URL that is encoded: where it stands there, in a text that begins at some place."""
    places = [match.start() - 2 * number for number, match in enumerate(_ESCAPE.finditer(text))]
    url = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)

    def place(decoded: int) -> int:
        return at + decoded + 2 * bisect_left(places, decoded)

    return [Span(place(span.start), place(span.end), span.name) for span in in_url(url, also, layers)]


def said(value: str) -> Iterator[str]:
    """What stands in a URL as it is said elsewhere: decoded, as often as it may be encoded."""
    for _ in range(_LAYERS + 1):
        plain = unquote_plus(value)
        yield plain
        if plain == value:
            return
        value = plain


def origin_in(value: str) -> str:
    """An origin's scheme, host and port; nothing of what is none, but `null`."""
    found = _ORIGIN.match(value)
    return found[1] + found[3] if found else value if value == "null" else ""


def beside_origin(value: str) -> list[Span]:
    """What a header has that names an origin, and none has."""
    found = _ORIGIN.match(value)
    if found is None:
        return [] if value == origin_in(value) else [Span(0, len(value), "origin")]
    before = [Span(*found.span(2), "userinfo")] if found[2] else []
    return [*before, Span(found.end(), len(value), "origin")] if found.end() < len(value) else before


def in_words(words: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Names and values of the credentials on a command line: behind options so named, in assignments, headers, URLs and JSON."""
    option = ""
    for word in words:
        if option and not word.startswith("-"):
            yield from _given(option, word)
        yield from _in_text(word)
        option = word if word.startswith("-") and "=" not in word else ""


def in_variables(environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Names and values of the credentials in an environment: all of a variable that is so named, and what its text has of them."""
    for name, value in environment.items():
        if is_credential_variable(name) and name not in _WORKING:
            yield from _given(name, value, is_sure=True)
        for _, part in _in_text(value):
            yield name, part


def is_given(name: str, value: str) -> bool:
    """Whether what stands behind a name in some settings is a credential itself, and not where one is to be found."""
    return next(_given(name, value), None) is not None


def password_in(userinfo: str) -> str:
    """What of a URL's userinfo is secret: what stands behind the colon, or all where there is none."""
    name, colon, password = userinfo.partition(":")
    return unquote_plus(password if colon else name)


def _in_text(text: str, nested: int = _NESTED) -> Iterator[tuple[str, str]]:
    for span in in_url(text):
        value = text[span.start : span.end]
        yield from ((span.name, each) for each in ([password_in(value)] if span.name == "userinfo" else said(value)))
    assigned = None if "://" in text else _ASSIGNED.fullmatch(text)
    if assigned and nested and _ASSIGNED.fullmatch(assigned[2]):  # as in `--header=Authorization: Bearer X`
        yield from _in_text(assigned[2], nested - 1)
    if assigned:
        yield from _given(assigned[1], assigned[2])
    for match in _IN_JSON.finditer(text):
        yield from _given(match[2], match[3] or match[4])
    for match in (*_IN_LIST.finditer(text), *_IN_WORDS.finditer(text)):
        yield from _given(match[1], _unquoted(match[2]))
    login = _LOGIN.match(text)
    if login and (login[2] is None or _tells(login[2])):
        yield "login", unquote_plus(login[1] or login[2] or login[3])


def _given(name: str, value: str, *, is_sure: bool = False) -> Iterator[tuple[str, str]]:
    """The credential that is given by a name, if it is one."""
    name = name.strip("- ")
    scheme, space, rest = value.partition(" ")
    value = rest.strip() if space and scheme.lower() in SCHEMES else value
    is_one = is_sure or is_credential_key(name)
    if _ELSEWHERE.fullmatch(name) or _is_elsewhere(value) or not (is_one or _USER.fullmatch(name)):
        return
    before, _, behind = value.partition(":")
    if _tells(behind) and _PLAIN.fullmatch(before) and not behind.startswith("//"):
        yield name, behind
    if is_one and (_PASSWORD.search(name) or _tells(value)):
        yield name, value
    several = value.split(",") if is_one and "," in value else ()
    if all(map(_OPAQUE.fullmatch, several)):
        yield from ((name, each) for each in several if _tells(each))


def _tells(value: str) -> bool:
    return is_telling(value) and not value.isdigit()


def _is_elsewhere(value: str) -> bool:
    """Whether a value only tells where a credential is: a variable, or a path."""
    if _REFERENCE.fullmatch(value):
        return True
    return _PATH.fullmatch(value) is not None and is_of_words(value)


def _unquoted(value: str) -> str:
    """A value in a list without what may stand around it. Source: ODBC and ADO.NET, connection strings; libpq, keywords and values."""
    value = value.strip()
    match value[:1] + value[-1:]:
        case "{}":
            return value[1:-1].replace("}}", "}")
        case '""':
            return value[1:-1].replace('""', '"')
        case "''":
            return _ESCAPED.sub(r"\1", value[1:-1])
        case _:
            return value
