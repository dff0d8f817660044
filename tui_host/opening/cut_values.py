"""Values that whoever wrote a file cut off, as `body[:700]` does: what they say up to there tells what they are.

No more is made of that: what is shown are the bytes that are in the file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tui_host.capture.http.exchange_end import CUT
from tui_host.capture.json.narrowing import items, mapping, said
from tui_host.capture.json.reading import LEVELS, is_deeper, load_tolerantly
from tui_host.capture.json.scan import BrokenError, Data, after_space, value_end
from tui_host.errors import JSON
from tui_host.opening.drafts import MOST, File, line_of, read_value
from tui_host.opening.pythonic import looks_pythonic, read_pythonic, written_as_json
from tui_host.opening.wire_detection import BESIDE_MESSAGES, Known, dialect_of_messages, known

OTHERS = "lines that are cut off"
_BEGUN = re.compile(rb"\[?\s*\{\s*[\"']")
_MARK = re.compile(r"""[{}\[\],]|"[^"\\]*+(?:\\.[^"\\]*+)*+"?|'[^'\\]*+(?:\\.[^'\\]*+)*+'?""", re.DOTALL)
"""A bracket, a comma, or a text; one without an end goes to that of all."""
_WORDS = re.compile(
    r"""["'](?:content|text|thinking|reasoning(?:_content)?|refusal|delta|arguments|partial_json)["']\s*:\s*"""
)
_WRITTEN = re.compile(rf"{_WORDS.pattern}\Z")
"""Before what a model wrote: a piece of that is a piece, as one of a name or of an id is not."""
_NAME_MOST = 40
_NOTE_MOST = 62
_NOTE_BEGINS, _NOTE_ENDS = frozenset("[(<{（【"), tuple("])>}）】")
"""What may stand in brackets behind the dots that a logger writes where it cuts something off."""
_ESCAPE_MOST = 6
_HALF_ESCAPE = re.compile(r"\\(?:u(?:[0-9a-fA-F]{0,3}|[dD][89abAB][0-9a-fA-F]{2}))?")
"""Of an escape what may stand at the end of a text that was cut, and is no character: its beginning, or the first of the two that one takes."""
_OF_A_REQUEST = BESIDE_MESSAGES | {
    "model",
    "messages",
    "input",
    "instructions",
    "contents",
    "system",
    "systemInstruction",
}
_OF_AN_ANSWER = frozenset({"id", "object", "created", "created_at", "role", "type", "error", "jsonrpc"})
"""Members of which a cut value may have the first ones."""


@dataclass(slots=True)
class Cuts:
    """What of a log is shown up to where it is cut off.

    Attributes:
        count: How much is.
        at: Where the line of the first begins.
    """

    count: int = 0
    at: int = 0

    def add(self, at: int) -> None:
        """One more, in the line that begins there; of an answer that is known once the next line was read."""
        self.at = min(self.at, at) if self.count else at
        self.count += 1

    def told(self, file: File) -> Iterator[str]:
        """What a person should be told of them."""
        if self.count:
            what = "a body or message that is" if self.count == 1 else f"{self.count:,} bodies or messages that are"
            first = f"{'in' if self.count == 1 else 'the first in'} line {line_of(file.data, self.at)}"
            yield f"{file.name} has {what} {CUT}, {first}: shown up to there."


def said_before_the_cut(data: bytes, tries: int = 2) -> JSON:
    """What an object says that has no end, but for the last of its members; None if it is none, or too deep.

    Args:
        data: It.
        tries: How often it may be no JSON behind some place: a logger may also have taken out the middle of it.
    """
    if len(data) > MOST or _BEGUN.match(data) is None:
        return None
    text = data.decode("utf-8", "replace")
    if looks_pythonic(data):
        return read_pythonic(closed(text).encode())
    for _ in range(tries):
        whole = closed(text)
        if is_deeper(whole, LEVELS):
            return None
        try:
            return load_tolerantly(whole)
        except json.JSONDecodeError as error:
            text = whole[: error.pos]
        except (ValueError, RecursionError):
            return None
    return None


def mended(data: bytes) -> tuple[bytes, bool] | None:
    """What an event says that has no end, as JSON, and whether what a model wrote in it is all there; None if it says nothing.

    Places in it stay what they were, unless it is as Python writes it.
    """
    if len(data) > MOST or _BEGUN.match(data) is None:
        return None
    text = data.decode("utf-8", "replace")
    whole = closed(text, has_half_texts=True)
    if looks_pythonic(data):
        value = read_pythonic(whole.encode("utf-8", "replace"))
        return None if value is None else (written_as_json(value), _has_all_words(text))
    found = whole.encode("utf-8", "surrogatepass")
    return None if read_value(found) is None else (found, _has_all_words(text))


def _has_all_words(text: str) -> bool:
    """Whether the object has an end that has in it, last, what a model wrote."""
    begin = max((found.end() for found in _WORDS.finditer(text)), default=len(text))
    depth = 0
    for found in _MARK.finditer(text, begin):
        depth += (found[0] in {"{", "["}) - (found[0] in {"}", "]"})
        if depth < 0:
            return True
    return False


def is_cut(data: Data) -> bool:
    """Whether a file is an object, or a list of them, that has no end, and nothing else."""
    begun = _BEGUN.match(data, after_space(data, 0))
    if begun is None or len(data) > MOST:
        return False
    piece = data[begun.start() :]
    try:
        value_end(piece, 0)
    except BrokenError:
        return said_before_the_cut(piece, tries=1) is not None
    return False


def known_by_its_beginning(value: JSON, dialect: str) -> Known | None:
    """What a value was on a wire whose rest is not there; None if that does not show.

    Args:
        value: What it says before it is cut off.
        dialect: That of the address beside it; empty if there is none.
    """
    if it := known(value):
        return it._replace(is_cut=True)
    body = mapping(value)
    if answered := _answered_in(body):
        return Known("answer", answered, is_cut=True)
    if body.keys() & _OF_AN_ANSWER:
        return None
    if any("role" in mapping(each) for each in items(body.get("messages"))):
        return Known("request", dialect or dialect_of_messages(body), is_cut=True)
    return Known("request", dialect, is_cut=True) if dialect and may_be_a_request(value) else None


def may_be_a_request(value: JSON) -> bool:
    """Whether what a cut value says may be of a request, where its address is one of a model."""
    body = mapping(value)
    return bool(body.keys() & _OF_A_REQUEST) and not body.keys() & _OF_AN_ANSWER


def _answered_in(body: Mapping[str, JSON]) -> str:
    """The dialect of an answer of which no more is there than what it begins with; empty if that does not show."""
    if said(body.get("object")).startswith("chat.completion"):
        return "openai"
    is_of_ollama = {"model", "created_at"} <= body.keys() and not body.keys() & {"object", "id"}
    return "ollama" if is_of_ollama else ""


def closed(text: str, *, has_half_texts: bool = False) -> str:
    """A text up to the last place where nothing but brackets is missing, with these.

    Args:
        text: An object in JSON, or as Python writes it.
        has_half_texts: Of what a model wrote, which comes in pieces, also that is kept which ends within its text.
    """
    end, missing, half = 0, list[str](), ""
    for found in _MARK.finditer(text):
        match found[0]:
            case "{" | "[" as bracket:
                missing.append("}" if bracket == "{" else "]")
                end = found.end()
            case "}" | "]" as bracket:
                if missing[-1:] != [bracket]:
                    break
                missing.pop()
                end = found.end()
            case ",":
                end = found.start()
            case _ if has_half_texts and not _is_whole(found[0]):
                half = _half(text, found.start(), found.end())
            case _:
                continue
        if not missing:
            break
    return (half or text[:end]) + "".join(reversed(missing))


def _half(text: str, begin: int, end: int) -> str:
    """A text up to where one in it, that has no end, was cut off, and its end; empty where that is not a piece of what a model wrote."""
    if _WRITTEN.search(text, max(begin - _NAME_MOST, 0), begin) is None:
        return ""
    return text[: begin + 1] + _without_half_escape(_without_tail(text[begin + 1 : end])) + text[begin]


def _is_whole(text: str) -> bool:
    """Whether a text that `_MARK` found has its end."""
    return len(text) > 1 and text[-1] == text[0] and not _is_escaped(text, len(text) - 1)


def _is_escaped(text: str, at: int) -> bool:
    """Whether the backslash before a place, if there is one, is none that another one escapes."""
    begin = at
    while begin and text[begin - 1] == "\\":
        begin -= 1
    return (at - begin) % 2 == 1


def _without_tail(said: str) -> str:
    """A text without what a logger writes where it cuts something off, or without the rest of a character."""
    bare = said.rstrip()
    ends = [len(bare)]
    if bare.endswith(_NOTE_ENDS):
        begin = max(len(bare) - _NOTE_MOST, bare.rfind("\n") + 1, 0)
        ends = [at for at in range(begin, len(bare) - 1) if bare[at] in _NOTE_BEGINS] + ends
    for end in ends:
        dotted = bare[:end].rstrip()
        if dotted.endswith(("...", "…")):
            return dotted.rstrip(dotted[-1])
    return said.removesuffix("\ufffd")


def _without_half_escape(said: str) -> str:
    """A text without an escape at its end of which the rest is missing; of one that is a backslash itself nothing is."""
    for _ in range(2):  # a character may take two
        at = said.rfind("\\", max(len(said) - _ESCAPE_MOST, 0))
        if at < 0 or not _is_escaped(said, at + 1) or _HALF_ESCAPE.fullmatch(said, at) is None:
            return said
        said = said[:at]
    return said
