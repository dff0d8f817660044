"""What an object of a log quotes: who writes one for each message, or for each exchange, puts what was on the wire into it, as JSON or as text.

Whatever its members are called: what was on a wire is known by what it is. Their names tell what was asked and what was said to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice

from tui_host.capture.json.narrowing import mapping
from tui_host.errors import JSON
from tui_host.opening.both import DEPTH as IN_REQUEST
from tui_host.opening.both import answer_of, names_of_answers, request_alone
from tui_host.opening.cut_values import known_by_its_beginning, may_be_a_request, said_before_the_cut
from tui_host.opening.drafts import read_value
from tui_host.opening.pythonic import written_as_json
from tui_host.opening.quote import Around, Quoted
from tui_host.opening.time_formats import TIME
from tui_host.opening.wire_detection import Known, dialect_of_answer, dialect_of_request, is_frame, known

_ASKED = re.compile(
    r"req|ask|input|prompt|param|sent|message|msg|frame|payload|line|event$|entry|log|http", re.IGNORECASE
)
_SAID = re.compile(r"resp|^res|repl|answ|output|result|receiv|completion|chunk|stream|events", re.IGNORECASE)
_ADDRESSES = ("url", "path", "endpoint", "target", "uri")
_IDS = ("request_id", "requestId", "req_id", "reqId", "exchange_id", "trace_id", "correlation_id", "uuid")
"""Members that name an exchange in all that is written of it; `id`, where none is there."""
_SERVERS = ("server", "server_name", "serverName", "mcp_server", "mcpServer")
TEXTS = ("raw", "data", "chunk", "text", "line", "body", "content", "message", "msg", "payload")
"""Members that hold what came as text: a piece of a stream, in a list of such pieces, or a line of standard error."""
DEPTH = 4
"""Levels of objects around what was on the wire."""
MOST_WORDS = 100
MOST_MEMBERS = 30
MOST_AROUND = 1000
MOST_NAME = 64
"""Characters of a member that can tell a time or a direction, how many such members are heard, and characters of all of them."""
_EVENT = re.compile(r"(?:\s++|:[^\n]*+\n|(?:event|id|retry):[^\n]*+\n)*data:[ \t]?(?=\{)")
"""An event with an object. Its group is not possessive: Python before 3.11.5 goes wrong with those."""
_DATA = re.compile(rb"(?m)^data:[ \t]?(\{.*\})[ \t\r]*$")
_PART = re.compile(
    r"\s*(?:data:[ \t]*(?:\[DONE\]|$)|\[DONE\]\s*$|: [^\n]{0,200}\n\s*$"
    r"|event:[ \t]?(?:message|content_block|response|ping|error)[\w.]{0,80}\s*(?:$|\nd?a?t?a?$|\ndata:))"
)
"""Of a stream what tells no dialect."""
_ONE_BREAK = re.compile(rb"(?m)^(data:[^\r\n]*)(\r?\n)(?=(?:data|event|id):)")
"""Between events that are one line each."""


def with_empty_lines(data: bytes) -> bytes:
    """A stream of events that are one line each, with the empty lines between them: who joins the lines that he reads loses these."""
    if b"\n" not in data.strip():
        return data
    return _ONE_BREAK.sub(rb"\1\2\2", data)


def quoted(value: JSON, words: str, dialect_at: Callable[[Around], str] = lambda _: "") -> Sequence[Quoted]:
    """What an object or a list quotes, which was on no wire itself; each request before its answer, and of neither a second form.

    Args:
        value: The object.
        words: What stands around it.
        dialect_at: The dialect of an address that is told around something; empty if none is told.
    """
    found: list[Quoted] = []
    parts: list[Quoted] = []
    is_asked = is_answered = False
    for each in _told(_in_value(value, Around(words), DEPTH), dialect_at):
        if any(each.is_beginning_of(other) for other in found[-2:]):
            continue
        if found and found[-1].is_beginning_of(each):
            found[-1] = each
        elif found and each.parses(found[-1]):
            continue
        if found and found[-1].parses(each):
            found[-1] = each  # nearer to the wire than what was made of it
        elif not each.known.dialect and each.known.kind == "answer":
            parts.append(each)
        elif each.is_piece:
            found.append(each)
        elif any(each.says_the_same_as(other) for other in found[-2:]):
            continue  # as text, and as what was read of it
        elif each.known.kind != "answer" or not is_answered:
            found.append(each)
            is_answered = is_asked and each.known.kind == "answer"
            is_asked = each.known.kind == "request"
        elif each.is_stream:
            found[-1] = each
    is_waiting = bool(found) and found[-1].known.kind == "request"  # what comes of its answer tells no dialect
    return [*found, *parts[:1]] if is_waiting or not found else found


def _told(found: Iterable[Quoted], dialect_at: Callable[[Around], str]) -> Iterator[Quoted]:
    """Those that are known for something; of a request that is cut off that may take the address."""
    for each in found:
        if each.known.dialect or each.known.kind != "request":
            yield each
        elif dialect := dialect_at(each.around):
            yield each._replace(known=each.known._replace(dialect=dialect))


def text_in(value: JSON, words: str, place: Sequence[str]) -> tuple[Around, str] | None:
    """The text that stands at a place in an object, and what stands around it; None if none does.

    Args:
        value: The object.
        words: What stands around that.
        place: The members in which it would stand.
    """
    around = Around(words)
    for name in place:
        if not isinstance(value, Mapping) or not isinstance(value.get(name), str | Mapping):
            return None
        around, value = next((near, item) for near, item in _items(value, around) if near.place[-1] == name)
    return (around, value) if place and isinstance(value, str) else None


def texts_in(value: JSON, around: Around, depth: int = DEPTH) -> Iterator[tuple[Around, str]]:
    """The texts in an object, each with what stands around it."""
    if isinstance(value, str):
        yield around, value
    elif depth and isinstance(value, Mapping):
        for near, item in _items(value, around):
            yield from texts_in(item, near, depth - 1)
    elif depth and isinstance(value, Sequence):
        for item in value:
            yield from texts_in(item, around, depth - 1)


def _in_value(value: JSON, around: Around, depth: int) -> Iterator[Quoted]:
    if isinstance(value, str):
        yield from _in_text(value, around, depth)
    elif it := known(value):
        both = _both(mapping(value), it.dialect, around) if it.kind == "request" else ()
        yield from both or [Quoted(around, written_as_json(value), value, it)]
    elif depth and isinstance(value, Mapping):
        each_in = [(near, item, list(_in_value(item, near, depth - 1))) for near, item in _items(value, around)]
        found = [each for _, _, several in each_in for each in several]
        yield from found
        if len(found) == 1 and found[0].known.kind == "request":
            yield from _messages(
                ((near, item) for near, item, several in each_in if not several), found[0].known.dialect
            )
    elif depth and isinstance(value, Sequence):
        texts = [_text_of(item) for item in value]
        said = ("" if any(text.endswith("\n") for text in texts) else "\n").join(texts)
        if _EVENT.match(said):
            yield from _in_text(said, around, depth)
            return
        for item in value:
            yield from _in_value(item, around, depth - 1)


def holds_both(value: JSON, it: Known) -> bool:
    """Whether a request is one that has its answer among its members."""
    return it.kind == "request" and bool(_both(mapping(value), it.dialect, Around("")))


def _both(body: Mapping[str, JSON], dialect: str, around: Around) -> Sequence[Quoted]:
    """The request that an object is, and its answers, where it has such; else nothing."""
    names = names_of_answers(body)
    if not names:
        return ()
    near = {each.place[-1]: each for each, _ in _items(body, around)}
    found = {
        name: [each for each in _in_value(body[name], near[name], IN_REQUEST) if _is_answer(each)] for name in names
    }
    answers = [each for several in found.values() for each in several]
    if not answers:
        answers = list(_messages(((near[name], body[name]) for name in names), dialect))
        found = {each.around.place[-1]: [each] for each in answers}
    request = request_alone(body, [name for name, several in found.items() if several])
    asked = Quoted(
        next(iter(near.values())), written_as_json(request), request, Known("request", dialect_of_request(request))
    )
    return [asked, *answers] if answers else ()


def _messages(members: Iterable[tuple[Around, JSON]], dialect: str) -> Iterator[Quoted]:
    """The answer that a member has the message of, or its text; of several the first."""
    for near, item in members:
        if answer := answer_of(near.place[-1], item, dialect):
            yield Quoted(near, written_as_json(answer), answer, Known("answer", dialect, is_message=True))
            return


def _is_answer(found: Quoted) -> bool:
    return found.known.kind == "answer" and bool(found.known.dialect)


def _items(value: Mapping[str, JSON], around: Around) -> Iterator[tuple[Around, JSON]]:
    """What an object has, but for its numbers, each with what stands around it."""
    inner = [each for each in value.values() if isinstance(each, Mapping)]
    addresses = (said for name in _ADDRESSES if isinstance(said := value.get(name), str))
    plain = [f"{item}" for item in value.values() if isinstance(item, str | int | float)]
    plain += [time for each in inner for time in each.values() if isinstance(time, str) and TIME.match(time)]
    keys = (f"{each[name]}" for name in _IDS for each in (value, *inner) if isinstance(each.get(name), str | int))
    short = (text for text in plain if len(text) <= MOST_WORDS and "{" not in text and text.lstrip()[:1] != "[")
    words = " ".join([*islice(short, MOST_MEMBERS), around.words])[:MOST_AROUND]  # what stands nearest is heard first
    name_of_all = value.get("id")
    key = around.key or next(keys, f"{name_of_all}" if isinstance(name_of_all, str | int) else "")
    url = next(addresses, "") or around.url
    servers = (said for name in _SERVERS if isinstance(said := value.get(name), str) and len(said) <= MOST_WORDS)
    server = next(servers, "") or around.server
    members = {**around.members, **_members(value), **{k: v for each in inner for k, v in _members(each).items()}}
    for name in sorted(value, key=_rank):
        item = value[name]
        if not isinstance(item, int | float):
            yield Around(f"{words} {name}", url, key, server, (*around.place, name), members), item


def _members(value: Mapping[str, JSON]) -> dict[str, str]:
    """The values that may name something."""
    named = ((name, f"{item}") for name, item in value.items() if isinstance(item, str | int))
    return {name: said for name, said in islice(named, MOST_MEMBERS) if 0 < len(said) <= MOST_NAME}


def _rank(name: str) -> int:
    """A request comes before its answer, in whatever order the object has them."""
    return 2 if _SAID.search(name) else 0 if _ASKED.search(name) else 1


def _text_of(item: JSON) -> str:
    return (
        item
        if isinstance(item, str)
        else next((t for name in TEXTS if isinstance(t := mapping(item).get(name), str)), "")
    )


def _frames(stream: bytes, around: Around) -> Iterator[Quoted]:
    """The messages of a server in its event stream."""
    for found in _DATA.finditer(stream):
        if is_frame(value := read_value(found[1])):
            yield Quoted(around, found[1], value, Known("frame"))


def _in_text(text: str, around: Around, depth: int) -> Iterator[Quoted]:
    found = _EVENT.match(text)
    if found is not None or _PART.match(text):
        data = (text if text.strip() != "[DONE]" else "data: [DONE]").encode("utf-8", "surrogatepass")
        first, _, more = text[found.end() :].partition("\n") if found is not None else ("", "", "")
        event = read_value(first.strip().encode("utf-8", "surrogatepass"))
        if is_frame(event):
            yield from _frames(data, around)
            return
        begun = None if event is not None or more else _begun(first.encode("utf-8", "surrogatepass"), around)
        dialect = dialect_of_answer(event) if begun is None else begun.known.dialect
        yield Quoted(around, with_empty_lines(data), None, Known("answer", dialect), event)
        return
    if text.lstrip()[:1] not in {"{", "["}:
        return
    data = text.encode("utf-8", "surrogatepass")
    value = read_value(data)
    if it := known(value):
        yield Quoted(around, data.strip(), value, it)
    elif value is not None:
        yield from _in_value(value, around, depth - 1) if depth else ()
    elif "\n" in text.strip() and (found_first := list(_in_text(text.strip().partition("\n")[0], around, depth))):
        yield from found_first
        for line in text.strip().split("\n")[1:]:
            yield from _in_text(line, around, depth)
    elif begun := _begun(data.strip(), around):
        yield begun


def _begun(data: bytes, around: Around) -> Quoted | None:
    """What a text is that is cut off; None if it does not show. A request that the address alone tells has no dialect."""
    value = said_before_the_cut(data)
    it = known_by_its_beginning(value, "") if value is not None else None
    if it is None and may_be_a_request(value):
        it = Known("request", is_cut=True)
    return Quoted(around, data, value, it) if it is not None else None
