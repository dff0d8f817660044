"""How sensitive a value is, by its name and its form; and keys of vendors, known by their form alone in any text."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

Sensitivity = Literal["none", "hide", "remove"]
Place = Literal["header", "query", "setting", "variable"]
"""Where a name stands."""
Kind = Literal["key", "session", "doubtful", "one-time", "several", "variable", "sound"]

# A value removed from a record is gone, so that its name must be telling; to hide one on a screen, a rough match is enough.
SCHEMES = frozenset(("bearer", "basic", "token", "digest", "apikey", "key", "negotiate", "dpop"))
REDIRECT_KEYS = frozenset(("code", "state"))  # parts of a login in a redirect, which may mean anything elsewhere
SESSION_KEYS = frozenset(("sessionid", "session_id", "session"))  # source: MCP 2024-11-05, HTTP with SSE
LONG_KEYS = frozenset(("code", "code_verifier", "device_code", "ticket", "login_ticket", "sessionid", "session_id"))
TELLING_FROM = 20  # shortest word without digits that counts: hosts send common words where no key is needed

# The words of names, with what each makes of a name: a name is cut into words at capitals and signs, and joined by hyphens.
_TABLE: tuple[tuple[Kind, Literal["any word", "last word", "whole", "within"], str], ...] = (
    ("key", "any word", r"\w*(?:key|token|secret|passw(?:or)?d|passphrase|cookie2?|credentials?|authorization|jwt)"),
    ("key", "any word", r"\w*(?:csrf|xsrf)|(?:\w*[^o]|)auth|oauth2?|pwd|pw|pass|creds?|bearer|assertion"),
    ("key", "any word", r"signature|sig|sas|pat|ak|sk"),
    # A plural counts only behind a word that names a credential: other keys and tokens are numbers, or sort keys.
    ("key", "whole", r"(?:.*-)?(?:api|access|account|auth|bearer|client|refresh|secret)-?(?:key|token)s-?\d*"),
    ("key", "whole", r"(?:.*-)?(?:(?:security|subscription)-?(?:key|token)|secret|passw(?:or)?d|passphrase|jwt)s-?\d*"),
    ("session", "any word", r"session(?:id)?|csrf\w*|xsrf\w*|cookie2?"),
    ("doubtful", "last word", r"access|licen[cs]e|subscription|session|k"),
    ("one-time", "last word", r"[th]?otp|passcode|dpop"),
    ("several", "last word", r"\w*(?:keys|tokens)"),
    ("variable", "within", r"keys?\b|tokens?|secret|passw|passphrase|credential|auth(?!or)|connection_?string"),
    ("variable", "within", r"(?<!by)(?<!com)(?<!ask)pass(?![a-z])"),
    ("sound", "within", r"key|token|secret|passw|pwd|auth|credential|cookie|bearer"),
)
# Patterns are compiled when they are first used, which is after the first frame.
_HARMLESS = (
    r"access-control-.*|.*ratelimit.*"  # headers that describe permissions and limits, not credentials
    r"|(?:.*-)?(?:websocket|idempotency|cache|surrogate|public|partition|routing|sort|page|next|continuation|cursor|max)"
    r"-?(?:key|token)s?"
    r"|.*-(?:type|version|mode|status|scheme|count|usage|limit|remaining|reset|expires|expiry|ttl|length|url|uri|method|info|policy)"
    r"|signature-input"
)
# The kinds that a harmless name is none of, whatever words are in it.
_OF_CREDENTIALS: frozenset[Kind] = frozenset(("key", "several"))
_REMOVED: dict[Place, frozenset[Kind]] = {
    "header": frozenset(("key", "session")),
    "query": frozenset(("key",)),
    "setting": frozenset(("key",)),
    "variable": frozenset(("key", "variable")),
}
_WORD = re.compile(r"[a-z0-9]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SCHEMED = r"(?i)(?:bearer[ \t]+(?=\S*\d|\S{16})|(basic)[ \t]+)([\w.~+/:-]{8,}=*)\s*"
_OPAQUE = r"(?a)(?=[^\d]*\d)(?=[^A-Za-z]*[A-Za-z])[\w.~+/-]{16,}=*"
_CHANGE = re.compile(r"(?<=\d)(?=[A-Za-z])|(?<=[A-Za-z])(?=\d)")
# Number of changes between letters and digits that is typical of hex, and rare in joined words, dates and versions.
_CHANGES = 4
_PIECE = re.compile(r"[A-Za-z0-9]{16,}")
_RUN = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
# Average word length that 99 of 100 paths reach, and 98 of 100 random keys do not.
_RUN_LENGTH = 2.5


# A form is strict: a vendor's prefix, then as many letters and digits as its keys have. No word or file's name has one.
VENDOR_KEY = "vendor-key"  # the name in its mark
# One of these stands in every key: most texts have none, and are not searched.
_HINTS = ("sk-", "k_", "gh", "_pat_", "glpat-", "xox", "xai-", "KIA", "SIA", "AIza", "hf_", "npm_", "pypi-")
# Somewhere ahead twelve letters and digits without a hyphen: names of many words have none.
_MIXED = r"(?=[\w-]{0,99}?(?<![A-Za-z0-9])(?=[A-Za-z]{0,11}[0-9])(?=[0-9]{0,11}[A-Za-z])[A-Za-z0-9]{12})"
_DIGIT = r"(?=[A-Za-z_-]{0,60}[0-9])"
_FORM = (
    r"(?a)(?<![\w-])(?:"
    rf"sk-{_MIXED}[\w-]{{20,}}"
    rf"|(?:gh[oprsu]|[rs]k_(?:live|test))_{_DIGIT}[A-Za-z0-9]{{16,}}"
    rf"|(?:hf|npm|gsk)_{_DIGIT}[A-Za-z0-9]{{30,}}"
    rf"|github_pat_{_DIGIT}\w{{22,}}"
    rf"|(?:glpat|xox[abeoprs])-{_DIGIT}[\w-]{{20,}}"
    rf"|xai-{_DIGIT}[A-Za-z0-9]{{40,}}"
    rf"|pypi-{_DIGIT}[\w-]{{50,}}"
    rf"|A[KS]IA{_DIGIT}[A-Z0-9]{{16}}(?!\w)"
    rf"|AIza{_DIGIT}[\w-]{{35}}(?![\w-])"
    r")"
)


def sensitivity(name: str, value: str = "", place: Place = "setting") -> Sensitivity:
    """Return what becomes of a named value: nothing, hidden on a screen, or removed from records."""
    kinds, key = kinds_of(name), name.lower()
    is_credential = bool(kinds & _REMOVED[place])
    if value and not is_credential and place in {"header", "query"}:
        is_credential = "doubtful" in kinds and is_random(value)
        if place == "query":
            is_credential |= key in {"otp", "totp"} or (key in LONG_KEYS and len(value) >= TELLING_FROM)
        else:
            is_code = "one-time" in kinds and not any(map(str.isspace, value)) and any(map(str.isdigit, value))
            is_credential |= is_code or has_scheme(value)
    if is_credential:
        return "remove"
    return "hide" if kinds & {"key", "sound"} else "none"


@lru_cache(1024)
def kinds_of(name: str) -> frozenset[Kind]:
    """Return all kinds of names that a name is."""
    words = _WORD.findall(_CAMEL.sub("-", name).lower())
    whole = "-".join(words)
    texts = {"any word": words, "last word": words[-1:], "whole": [whole], "within": [name.lower()]}
    kinds: set[Kind] = set()
    for kind, where, pattern in _TABLE:
        match = re.search if where == "within" else re.fullmatch
        if any(match(pattern, text) for text in texts[where]):
            kinds.add(kind)
    return frozenset(kinds - _OF_CREDENTIALS if re.fullmatch(_HARMLESS, whole) else kinds)


def has_scheme(value: str) -> bool:
    """Whether a header's value is a credential by its scheme, whatever the header's name: some gateways use their own."""
    match = re.fullmatch(_SCHEMED, value) if value[:1] in {"B", "b"} else None
    if match is None or not match[1] or is_random(match[2]):
        return match is not None
    try:
        return b":" in base64.b64decode(match[2], validate=True)
    except ValueError:
        return False


def is_random(value: str) -> bool:
    """Whether a value looks random, unlike words, dates and versions."""
    if not re.fullmatch(_OPAQUE, value):
        return False
    return len(_CHANGE.findall(value)) >= _CHANGES or not all(map(is_of_words, _PIECE.findall(value)))


def is_of_words(text: str) -> bool:
    """Whether a text consists of words and numbers, unlike a random key."""
    words = _RUN.findall(text)
    return len("".join(words)) >= _RUN_LENGTH * len(words)


def is_telling(value: str) -> bool:
    """Whether a value is distinctive enough to search for, unlike a common word."""
    return len(value) >= TELLING_FROM or not value.isascii() or any(map(str.isdigit, value))


def pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Cut a text at vendors' keys: yield each piece that is not empty, and whether it is a key."""
    end = 0
    for match in re.finditer(_FORM, text) if any(hint in text for hint in _HINTS) else ():
        if match.start() > end:
            yield text[end : match.start()], False
        yield match[0], True
        end = match.end()
    if end < len(text):
        yield text[end:], False
