"""Recognises credentials by name: headers, query keys, settings, environment variables.

The strictness follows the cost of a mistake. A value removed from a record is gone, so its name must consist of telling words. A
variable's value is examined too. A value only hidden on a screen is not lost, so a rough match is enough.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from functools import lru_cache
from urllib.parse import unquote_plus

SCHEMES = frozenset(("bearer", "basic", "token", "digest", "apikey", "key", "negotiate", "dpop"))
REDIRECT_KEYS = frozenset(("code", "state"))
"""Query keys that are part of a login in a redirect, but may mean anything elsewhere."""
_SESSION_IDS = frozenset(("sessionid", "session_id"))
SESSION_KEYS = _SESSION_IDS | {"session"}
"""Query keys whose value is a session id. Source: MCP 2024-11-05, Transports, HTTP with SSE."""
LONG_KEYS = frozenset(("code", "code_verifier", "device_code", "ticket", "login_ticket")) | _SESSION_IDS
"""Query keys whose value, if it is long, is a login or, in Azure Functions, the caller's key."""
ONE_TIME_KEYS = frozenset(("otp", "totp"))
"""Query keys whose value is a one-time login of any length."""
PROTOCOLS = "sec-websocket-protocol"
"""The only WebSocket header that a web page can set: pages send credentials as protocol names."""
_LONGEST = 100
"""Longest name to examine, in characters."""

_WORD = re.compile(r"[a-z0-9]+")
_DOT = re.compile(r"\.")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_CREDENTIAL = re.compile(
    r"\w*(?:key|token|secret|passw(?:or)?d|passphrase|cookie2?|credentials?|authorization|jwt|csrf|xsrf)"
    r"|(?:\w*[^o]|)auth|oauth2?|pwd|pw|pass|creds?|bearer|assertion|signature|sig|sas|pat|ak|sk"
)
_CREDENTIALS = re.compile(
    r"(?:.*-)?(?:(?:api|access|account|auth|bearer|client|refresh|secret|security|subscription)-?(?:key|token)"
    r"|secret|passw(?:or)?d|passphrase|jwt)s-?\d*"
)
"""A plural such as `keys` or `tokens` counts only after a word that names a credential: others are numbers or sort keys."""
_SOMEBODYS = re.compile(
    r"(?:.*-)?(?:(?:api|access|secret|account|subscription|private)-?key|(?:access|refresh|auth|bearer|api|security)-?token"
    r"|secret|passw(?:or)?d|passphrase|pwd|pw|creds?|credentials?)"
)
_DOUBTFUL = re.compile(r"access|licen[cs]e|subscription|session|k")
_ONE_TIME = re.compile(r"[th]?otp|passcode|dpop")
_OPAQUE = re.compile(r"(?=[^\d]*\d)(?=[^A-Za-z]*[A-Za-z])[\w.~+/-]{16,}=*", re.ASCII)
_CHANGE = re.compile(r"(?<=\d)(?=[A-Za-z])|(?<=[A-Za-z])(?=\d)")
_CHANGES = 4
"""Number of changes between letters and digits that is typical of hex, and rare in joined words, dates and versions."""
_PIECE = re.compile(r"[A-Za-z0-9]{16,}")
_RUN = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_RUN_LENGTH = 2.5
"""Average word length that 99 of 100 paths reach, and 98 of 100 random keys do not."""
_SEVERAL = re.compile(r"\w*(?:keys|tokens)")
_ONE_OF_SEVERAL = re.compile(r"(?<![\w.~+/-])(?=[^\d\s,;]{0,200}\d)(?=[^A-Za-z\s,;]{0,200}[A-Za-z])[\w.~+/-]{16,}=*")
_VARIABLE = re.compile(
    r"KEYS?\b|TOKENS?|SECRET|PASSW|PASSPHRASE|(?<!BY)(?<!COM)(?<!ASK)PASS(?![A-Z])|CREDENTIAL|AUTH(?!OR)|CONNECTION_?STRING",
    re.IGNORECASE,
)
_PART = re.compile(r'(?:([\w.-]+)=(?!=*(?:[\s,;&]|$)))?(?:"([^"]*)"|([^\s,;&"]+))')
"""A parameter `name=value`, or a word, which may end with `=`."""
_SOUND = re.compile(r"key|token|secret|passw|pwd|auth|credential|cookie|bearer", re.IGNORECASE)
_SCHEMED = re.compile(r"(?:bearer[ \t]+(?=\S*\d|\S{16})|(basic)[ \t]+)([\w.~+/:-]{8,}=*)\s*", re.IGNORECASE)
_SESSION = re.compile(r"session(?:id)?|csrf\w*|xsrf\w*|cookie2?")
_NO_CREDENTIAL = re.compile(
    r"access-control-.*|.*ratelimit.*"  # headers that describe permissions and limits, not credentials
    r"|(?:.*-)?(?:websocket|idempotency|cache|surrogate|public|partition|routing|sort|page|next|continuation|cursor|max)"
    r"-?(?:key|token)s?"
    r"|.*-(?:type|version|mode|status|scheme|count|usage|limit|remaining|reset|expires|expiry|ttl|length|url|uri|method|info|policy)"
    r"|signature-input"
)


@lru_cache(1024)
def is_credential_header(name: str) -> bool:
    """Whether a header with this name holds a credential or a session id."""
    return _is_credential(name) or any(map(_SESSION.fullmatch, _words(name)))


def is_credential_value(value: str) -> bool:
    """Whether a header's value is a credential by its scheme, whatever the header's name: some gateways use a header of their own."""
    match = _SCHEMED.fullmatch(value) if value[:1] in {"B", "b"} else None
    if match is None or not match[1] or is_by_chance(match[2]):
        return match is not None
    try:
        return b":" in base64.b64decode(match[2], validate=True)
    except ValueError:
        return False


@lru_cache(1024)
def is_credential_key(name: str) -> bool:
    """Whether a query key or setting with this name holds a credential."""
    return _is_credential(name)


def is_credential_by_value(name: str, value: str) -> bool:
    """Whether a header or query key with an ambiguous name, such as `X-Access` or `k`, has a random-looking value."""
    return _last_word(_DOUBTFUL, name) and is_by_chance(value)


def is_one_time(name: str, value: str) -> bool:
    """Whether a header holds a one-time code or signature, as opposed to a word that asks for one."""
    return _last_word(_ONE_TIME, name) and not any(map(str.isspace, value)) and any(map(str.isdigit, value))


@lru_cache(1024)
def is_somebodys_key(name: str) -> bool:
    """Whether a name, after any prefix, says what a key is for (`api-key`) or names a password."""
    return _SOMEBODYS.fullmatch("-".join(_words(name))) is not None and is_credential_key(name)


def is_by_chance(value: str) -> bool:
    """Whether a value looks random, unlike words, dates and versions."""
    if not _OPAQUE.fullmatch(value):
        return False
    return len(_CHANGE.findall(value)) >= _CHANGES or not all(map(is_of_words, _PIECE.findall(value)))


def is_of_words(text: str) -> bool:
    """Whether a text consists of words and numbers, unlike a random key."""
    words = _RUN.findall(text)
    return len("".join(words)) >= _RUN_LENGTH * len(words)


def is_credential_variable(name: str) -> bool:
    """Whether an environment variable with this name holds a credential. Accepts joined words and plurals."""
    return _VARIABLE.search(name) is not None or is_credential_key(name)


def sounds_like_credential(name: str) -> bool:
    """Whether to hide a value with this name on a screen, although it may be harmless."""
    return _SOUND.search(name) is not None or is_credential_key(name)


@lru_cache(1024)
def is_lasting(name: str) -> bool:
    """Whether a credential with this name is a lasting secret, unlike a session id."""
    return not any(map(_SESSION.fullmatch, _words(name)))


def several_in(name: str, value: str) -> Iterator[re.Match[str]]:
    """Find likely credentials in a header named for several keys or tokens. It may also hold counts or words."""
    words = _words(name)
    if words and _SEVERAL.fullmatch(words[-1]) and not _NO_CREDENTIAL.fullmatch("-".join(words)):
        yield from _ONE_OF_SEVERAL.finditer(value)


def credential_in(value: str) -> str:
    """Return a header's value without its authentication scheme."""
    scheme, space, rest = value.partition(" ")
    return rest if space and scheme.lower() in SCHEMES else value


def parts_of_credential(value: str) -> Iterator[str]:
    """Yield the credentials inside a header's value, as in `Token token="X"`, `MyScheme X` or `Key id:X`."""
    before, _, _ = value.strip().partition(" ")
    has_names = False
    if "⟨secret:" in value:
        return
    credential = credential_in(value)
    for match in _PART.finditer(credential):
        name, text = match[1], match[2] if match[3] is None else match[3]
        if name is None and has_names:
            continue  # the word is part of a list
        if name is None:
            is_scheme = match.start() == 0 and credential[match.end() : match.end() + 1].isspace()
            _, colon, behind = text.partition(":")
            if not is_scheme:
                yield text
            if colon and not behind.startswith("//") and before.lower() != "bearer":
                yield behind
            continue
        has_names = True
        if is_credential_key(name):
            yield text
            yield unquote_plus(text)


def credentials_in_protocols(value: str) -> Iterator[tuple[str, str]]:
    """Yield names and values of credentials among WebSocket protocols, as in `api-key.VALUE` or `token, VALUE`."""
    before = ""
    for protocol in map(str.strip, value.split(",")):
        named = (
            dot.start() for dot in _DOT.finditer(protocol, 0, _LONGEST) if is_credential_key(protocol[: dot.start()])
        )
        at = next(named, None)
        if at is not None and protocol[at + 1 :]:
            yield protocol[:at], protocol[at + 1 :]
        elif before.lower() in SCHEMES and protocol:
            yield before, protocol
        before = protocol


def _is_credential(name: str) -> bool:
    words = _words(name)
    whole = "-".join(words)
    is_one = any(map(_CREDENTIAL.fullmatch, words)) or _CREDENTIALS.fullmatch(whole)
    return bool(is_one) and not _NO_CREDENTIAL.fullmatch(whole)


def _last_word(pattern: re.Pattern[str], name: str) -> bool:
    words = _words(name)
    return bool(words) and pattern.fullmatch(words[-1]) is not None


def _words(name: str) -> list[str]:
    return _WORD.findall(_CAMEL.sub("-", name).lower())
