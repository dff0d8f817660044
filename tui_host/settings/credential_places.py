"""Finds credentials by their position: in URLs and headers, in a command's arguments, in environment variables."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple
from urllib.parse import unquote_plus

from tui_host.settings.sensitivity import SCHEMES, is_of_words, is_telling, kinds_of, sensitivity

PROTOCOLS = "sec-websocket-protocol"
"""The only WebSocket header that a web page can set: pages send credentials as protocol names."""
_LONGEST_NAME = 100
_USERINFO = re.compile(r"(?<![\w+.-])[A-Za-z][\w+.-]*:(?:\\?/){2}([^/?#\s\"']+)@")
# A URL parameter with its value. The value may contain separators, unless another parameter or a link's bracket follows.
_PARAMETER = re.compile(r"[?&;#]([^=&;#?]+)=(?![;?][^=&;#?>]+=)([^&#]+?)(?=[&#]|>\s*(?:[;,]|$)|[;?][^=&;#?>]+=|$)")
_PIECE = re.compile(r"[^?&#;=\s<>\"']+")
_ENCODED = re.compile(r"%(?:25)*(?:3[dD]|40)")
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
# Largest number of levels of URLs inside URLs, or of encoding, to look into.
_LAYERS = 3
_ASSIGNED = re.compile(r"\s*-{0,2}([\w.-]+)\s*[=:]\s*(\S.*)", re.DOTALL)
# Largest number of levels of assignments inside assignments to look into.
_NESTED = 8
_QUOTED = r"'(?:[^'\\]|\\.){0,120}'|\"(?:[^\"]|\"\"){0,120}\"|\{(?:[^}]|\}\}){0,120}\}"
# An assignment in a list, as in `Server=tcp:a.example;Password=b`, or `PWD={a;b}`.
_IN_LIST = re.compile(rf"(?:^|;)\s*([\w.-]+(?: +[\w.-]+)*)\s*=\s*((?:{_QUOTED})(?=\s*(?:;|$))|[^;]+)")
# An assignment between spaces, as in `host=a.example user=b password='c d'`.
_IN_WORDS = re.compile(rf"(?:^|\s)([\w.-]+)\s*=\s*({_QUOTED}|[^\s;'\"{{]+)(?=\s+[\w.-]+\s*=|\s*$)")
# A login without a URL's scheme, as in `a:b@tcp(c.example)/d`, `a:b@c.example:80` and `jdbc:oracle:thin:a/b@c.example`.
_LOGIN = re.compile(
    r"\s*[^\s:@/]*:(?!//)(\S+)@\w+\(|\s*[^\s:@/]+:(?!//)([^\s/]+)@[\w.-]+:\d{1,5}(?:[/?]|$)|\s*jdbc:[\w:]+:[^\s:@/]*/(\S+)@"
)
_PLAIN = re.compile(r"[\w.@+-]+")
_OPAQUE = re.compile(r"[\w.~+/=-]+")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
# Names whose value may be a user name followed by a password.
_USER = re.compile(r"(?:.*[^a-z])?user|u", re.IGNORECASE)
# A member of a JSON object, also in the quoting of a shell or another language.
_IN_JSON = re.compile(r"""(["'])([\w.-]+)\1\s*:\s*(?:"((?:[^"\\]|\\.)+)"|'((?:[^'\\]|\\.)+)')""")
# Names whose value tells the file, the variable or the name of a credential instead of the credential.
_ELSEWHERE = re.compile(
    r".*[^a-z](?:file|path|dir|folder|name|env|var|header|prefix|store|sock|socket|ring|helper|command|cmd)s?",
    re.IGNORECASE,
)
_REFERENCE = re.compile(r"(?:\$(?:[A-Z_][A-Z0-9_]*|\{[^{}]*\}|\([^()]*\)))+")
# A path: several parts, or a single part with a suffix. A value that only begins with a slash may be a key.
_PATH = re.compile(
    r"(?:(?:\.{1,2}|[A-Za-z]:)?(?:[/\\][\w.@ ()+,-]+){2,}|(?:\.{0,2}|[A-Za-z]:)[/\\][\w@ -]*\.\w+|~[\w.-]*(?:/[\w.@ ()+,-]+)+)/?"
)
_DOT = re.compile(r"\.")
_ONE_OF_SEVERAL = re.compile(r"(?<![\w.~+/-])(?=[^\d\s,;]{0,200}\d)(?=[^A-Za-z\s,;]{0,200}[A-Za-z])[\w.~+/-]{16,}=*")
# A parameter `name=value`, or a word, which may end with `=`.
_PART = re.compile(r'(?:([\w.-]+)=(?!=*(?:[\s,;&]|$)))?(?:"([^"]*)"|([^\s,;&"]+))')
# A shell's variables for the current and previous folder: no passwords, despite `PWD` in their names.
_WORKING = frozenset(("PWD", "OLDPWD"))
_PASSWORD = re.compile(r"passw|pwd|pass\b|secret", re.IGNORECASE)
_ORIGIN = re.compile(r"([A-Za-z][\w+.-]*://)(?:([^/?#\s]*)@)?([^/?#@\s]*)")


class Span(NamedTuple):
    """The position of a credential in a text, with its name."""

    start: int
    end: int
    name: str


def in_url(url: str, also: Collection[str] = (), layers: int = _LAYERS) -> list[Span]:
    """Find credentials in URLs: user and password, and values of telling keys. Spans are in order, without overlap.

    The text may be JSON with URLs whose slashes are escaped; `also` are further names of keys, in lower case.
    """
    spans = [Span(*match.span(1), "userinfo") for match in _USERINFO.finditer(url)] if "@" in url else []
    for match in _PARAMETER.finditer(url) if "=" in url else ():
        name = unquote_plus(match[1])
        if name.lower() in also or sensitivity(name, unquote_plus(match[2]), "query") == "remove":
            spans.append(Span(*match.span(2), match[1]))
    if layers and _ENCODED.search(url):
        for match in _PIECE.finditer(url):
            if _ENCODED.search(match[0]):
                spans += _in_encoded(match[0], match.start(), also, layers - 1)
    if len(spans) < 2:
        return spans
    apart: list[Span] = []
    for span in sorted(spans, key=lambda each: (each.start, -each.end)):
        if not apart or span.start >= apart[-1].end:
            apart.append(span)
    return apart


def _in_encoded(text: str, at: int, also: Collection[str], layers: int) -> list[Span]:
    """Find credentials in an encoded URL, at their positions in the text around it."""
    places = [match.start() - 2 * number for number, match in enumerate(_ESCAPE.finditer(text))]
    url = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)

    def place(decoded: int) -> int:
        return at + decoded + 2 * bisect_left(places, decoded)

    return [Span(place(span.start), place(span.end), span.name) for span in in_url(url, also, layers)]


def said(value: str) -> Iterator[str]:
    """Yield the spellings of a URL value that may appear elsewhere: decoded once or repeatedly."""
    for _ in range(_LAYERS + 1):
        plain = unquote_plus(value)
        yield plain
        if plain == value:
            return
        value = plain


def origin_in(value: str) -> str:
    """Return only scheme, host and port of an origin. `null` stays, and any other text becomes empty."""
    origin = _ORIGIN.match(value)
    if origin is None:
        return value if value == "null" else ""
    return origin[1] + origin[3]


def beside_origin(value: str) -> list[Span]:
    """Find text in an origin header that is not part of an origin."""
    origin = _ORIGIN.match(value)
    if origin is None:
        return [] if value == origin_in(value) else [Span(0, len(value), "origin")]
    before = [Span(*origin.span(2), "userinfo")] if origin[2] else []
    return [*before, Span(origin.end(), len(value), "origin")] if origin.end() < len(value) else before


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
        if sensitivity(name, place="variable") == "remove" and name not in _WORKING:
            yield from _given(name, value, is_sure=True)
        for _, part in _in_text(value):
            yield name, part


def is_given(name: str, value: str) -> bool:
    """Whether a named setting holds a credential itself, as opposed to a reference to a credential."""
    return next(_given(name, value), None) is not None


def password_in(userinfo: str) -> str:
    """Return the secret part of the text before a URL's `@`: the part after the colon, or all of it without a colon."""
    name, colon, password = userinfo.partition(":")
    return unquote_plus(password if colon else name)


def credential_in(value: str) -> str:
    """Return a header's value without its authentication scheme."""
    scheme, space, rest = value.partition(" ")
    return rest if space and scheme.lower() in SCHEMES else value


def several_in(name: str, value: str) -> Iterator[re.Match[str]]:
    """Find likely credentials in a header named for several keys or tokens. It may also hold counts or words."""
    if "several" in kinds_of(name):
        yield from _ONE_OF_SEVERAL.finditer(value)


def parts_of_credential(value: str) -> Iterator[str]:
    """Yield the credentials inside a header's value, as in `Token token="X"`, `MyScheme X` or `Key id:X`."""
    before, _, _ = value.strip().partition(" ")
    has_names = False
    if "⟨secret:" in value:
        return
    credential = credential_in(value)
    for match in _PART.finditer(credential):
        name, text = match[1], match[2] if match[3] is None else match[3]
        if name is not None:
            has_names = True
            if sensitivity(name) == "remove":
                yield text
                yield unquote_plus(text)
        elif not has_names:  # else the word is part of a list
            is_scheme = match.start() == 0 and credential[match.end() : match.end() + 1].isspace()
            _, colon, behind = text.partition(":")
            if not is_scheme:
                yield text
            if colon and not behind.startswith("//") and before.lower() != "bearer":
                yield behind


def credentials_in_protocols(value: str) -> Iterator[tuple[str, str]]:
    """Yield names and values of credentials among WebSocket protocols, as in `api-key.VALUE` or `token, VALUE`."""
    before = ""
    for protocol in map(str.strip, value.split(",")):
        dots = (dot.start() for dot in _DOT.finditer(protocol, 0, _LONGEST_NAME))
        at = next((dot for dot in dots if sensitivity(protocol[:dot]) == "remove"), None)
        if at is not None and protocol[at + 1 :]:
            yield protocol[:at], protocol[at + 1 :]
        elif before.lower() in SCHEMES and protocol:
            yield before, protocol
        before = protocol


def _in_text(text: str, nested: int = _NESTED) -> Iterator[tuple[str, str]]:
    for span in in_url(text):
        value = text[span.start : span.end]
        yield from (
            (span.name, decoded) for decoded in ([password_in(value)] if span.name == "userinfo" else said(value))
        )
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
    """Yield the credentials in the value of a name, if any."""
    name = name.strip("- ")
    scheme, space, rest = value.partition(" ")
    value = rest.strip() if space and scheme.lower() in SCHEMES else value
    is_one = is_sure or sensitivity(name) == "remove"
    if _ELSEWHERE.fullmatch(name) or _is_elsewhere(value) or not (is_one or _USER.fullmatch(name)):
        return
    before, _, behind = value.partition(":")
    if _tells(behind) and _PLAIN.fullmatch(before) and not behind.startswith("//"):
        yield name, behind
    if is_one and (_PASSWORD.search(name) or _tells(value)):
        yield name, value
    several = value.split(",") if is_one and "," in value else ()
    if all(map(_OPAQUE.fullmatch, several)):
        yield from ((name, part) for part in several if _tells(part))


def _tells(value: str) -> bool:
    return is_telling(value) and not value.isdigit()


def _is_elsewhere(value: str) -> bool:
    """Whether a value only refers to a credential elsewhere, as a variable or a path does."""
    if _REFERENCE.fullmatch(value):
        return True
    return _PATH.fullmatch(value) is not None and is_of_words(value)


def _unquoted(value: str) -> str:
    """Remove the quotes of a list's value. Source: ODBC and ADO.NET, connection strings; libpq, keywords and values."""
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
