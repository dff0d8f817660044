"""What requests weigh: the tokens and tools of each request, what its response reported, and which tools were called."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar
from weakref import WeakKeyDictionary

from tui_host.answers.bodies import body_of, unescaped
from tui_host.answers.outlines import MOST, folded, marks_of
from tui_host.answers.wires import Section, Wires, facts_of
from tui_host.capture.ladder.ladder import Ladder
from tui_host.capture.ladder.row import Row
from tui_host.capture.link import Link
from tui_host.capture.visible import decode
from tui_host.llm.fold import Fold
from tui_host.llm.layout import outline_of
from tui_host.llm.messages import Usage
from tui_host.llm.outline import estimate_tokens

LISTS = "lists the tools"  # the purpose of the text that is such a list, in the words of the links that tell it
_LINE = rb"(?:^|\\n|<tools>)\s*"
_ENTRY = re.compile(
    _LINE + rb"(?P<form>- |\d+\. |Tool: |<tool>(?:\\n|\s)*<name>|\{(?:[^{}]{0,60}\{)?\s*\\\"name\\\":\s*\\\")"
    rb"(?P<name>[^\s\\:<\"]+)(?=: |:?\\n|</name>|\\\")"
)
"""Where a tool begins: a line of `cline` and `react`, of `json` and `function`, of `cherry`, of `hermes`."""
_HEADING = re.compile(_LINE + rb"##(?P<deep>#?) (?P<words>[^\\]*)")
"""A heading of `cline`, which names a server unless it is a deep one."""


_Number = TypeVar("_Number", int, float)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolWeight:
    """A tool in a request."""

    name: str  # the name that the model sees
    server: str  # its server; empty for a tool of nobody that is known
    tool: str  # the name that the server gave it
    size: int  # bytes of its definition in the request
    tokens: int  # its tokens, an estimate
    definition: bytes  # the bytes of the definition
    in_text: bool = False  # whether it stands in the prompt, where a tool protocol put it


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestWeight:
    """A request and what its response reported, or several of them together."""

    request: str  # its name: `LLM 3`
    row: tuple[str, int] = ("", 0)  # its row, by capture and number of its first record
    size: int = 0  # bytes of its body
    estimate: int = 0  # its tokens, an estimate
    usage: Usage = field(default_factory=Usage)  # the tokens that the provider reported
    tools: tuple[ToolWeight, ...] = ()  # the offered tools
    put_in: Mapping[str, int] = field(default_factory=dict[str, int])  # bytes that the tool protocol put in, by purpose
    calls: tuple[tuple[str, str], ...] = ()  # the tools that the response asks for, by server and name
    input_cost: float | None = None  # what its input cost by the configured prices; None without them
    cost: float | None = None  # what it cost with the response
    is_answered: bool = True  # whether its response has begun


_Lists: TypeAlias = dict[tuple[str, str, bytes], tuple[ToolWeight, ...]]


@dataclass(eq=False, slots=True)
class _Weighed:
    """What was read once, of the rows of one ladder: equal lists of tools, which most requests repeat, are taken apart once."""

    requests: dict[tuple[str, int], RequestWeight] = field(default_factory=dict[tuple[str, int], RequestWeight])
    lists: _Lists = field(default_factory=_Lists)
    calls: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    counted: int = -1  # the revision of the rows in which the session's calls were counted


_WEIGHED: WeakKeyDictionary[Ladder, _Weighed] = WeakKeyDictionary()


def requests_of(wires: Wires, section: Section) -> Sequence[Row]:
    """Return the requests to models of a section: those of its step, its turn, or the session."""
    rows, turn_of = wires.ladder.rows, wires.ladder.sections.turn_of
    numbers = [at for at in wires.ladder.numbers.requests if section.is_session or turn_of(at) == section.turn]
    own = (rows[number] for number in numbers)
    return [row for row in own if section.clock in {"", row.clock} and section.step in {0, row.step}]


def weigh(wires: Wires, rows: Iterable[Row]) -> list[RequestWeight]:
    """Weigh requests with their responses; those weighed before are not read again."""
    weighed = _WEIGHED.setdefault(wires.ladder, _Weighed())
    weights: list[RequestWeight] = []
    for row in rows:
        key = row.capture, row.seq
        weight = weighed.requests.get(key) or _weight(wires, row, weighed)
        if (wires.ladder.partner_of(row) or row).state != "open":
            weighed.requests[key] = weight
        weights.append(weight)
    return weights


def _weight(wires: Wires, row: Row, weighed: _Weighed) -> RequestWeight:
    dialect, name, key = wires.dialect(row), wires.called(row), (row.capture, row.seq)
    if row.missing or row.size > MOST:
        return RequestWeight(request=name, row=key, size=row.size)
    facts = wires.recorded.requests.get((row.capture, row.exchange)) or facts_of(body_of(wires, row).data)
    marks = marks_of(wires, row)
    tools = _tools(wires, row, facts.tools, marks, weighed)
    response = wires.ladder.partner_of(row)
    usage, calls = Usage(), ()
    if response is not None and dialect is not None and response.status < 400 and not response.missing:
        if known := wires.recorded.usage.get((response.capture, response.exchange)):  # the events that have them
            fold, decoder = Fold(provider="", model="", call_id=str), dialect.decoder("")
            for event in (*decoder.feed(known), *decoder.finish()):
                fold.add(event)
            usage = fold.usage
        if usage.input_total is None:
            usage = folded(wires, response, body_of(wires, response), dialect).usage
        calls = tuple((mark.server, mark.tool) for mark in marks_of(wires, response) if mark.relation == "asked")
    put_in: Counter[str] = Counter()
    for mark in marks:
        if mark.relation == "injected":
            put_in[mark.words] += mark.span.size
    costs = usage.costs(wires.price(row, facts.model))
    return RequestWeight(
        request=name,
        row=key,
        size=facts.size,
        estimate=facts.tokens,
        usage=usage,
        tools=tools,
        put_in=put_in,
        calls=calls,
        input_cost=None if costs is None else costs[0],
        cost=None if costs is None else sum(costs),
        is_answered=response is not None,
    )


def _tools(wires: Wires, row: Row, offered: bytes, marks: Sequence[Link], weighed: _Weighed) -> tuple[ToolWeight, ...]:
    """Return the declared tools, else those that a tool protocol wrote into the prompt, as far as these can be told apart."""
    dialect, names, lists = wires.dialect(row), wires.names(row), weighed.lists
    if offered and dialect is not None:
        key = row.capture, dialect.name, offered
        if key not in lists:
            outline = outline_of(b'{"tools":%s}' % offered, names)
            lists[key] = tuple(
                ToolWeight(
                    name=part.name,
                    server=names.get(part.name, ("", ""))[0],
                    tool=names.get(part.name, ("", part.name))[1],
                    size=part.size,
                    tokens=part.tokens,
                    definition=outline.bytes_of(part),
                )
                for part in (() if outline is None else outline.walk())
                if part.kind == "tool" and outline is not None
            )
        if lists[key]:
            return lists[key]
    marks = [mark for mark in marks if mark.words == LISTS]
    body = body_of(wires, row).data if marks else b""
    key = row.capture, LISTS, b"".join(piece for mark in marks for piece in mark.span.pieces(body))
    if key in lists:
        return lists[key]
    # The list stands, escaped, in a JSON string; it has no tools if its form is not known.
    text, tools = key[2], list[ToolWeight]()
    entries = list(_ENTRY.finditer(text))
    entries = [entry for entry in entries if entry["form"] == entries[0]["form"]]
    headings = list(_HEADING.finditer(text)) if entries and entries[0]["form"] == b"- " else []
    ends = sorted((*(match.start() for match in (*entries, *headings)), len(text)))
    known = {*names.values()}
    for entry in entries:
        above = (each["words"] for each in headings if not each["deep"] and each.start() < entry.start())
        server = decode(next(reversed(list(above)), b"")).partition(" (")[0]
        name = decode(entry["name"])
        place = (server, name) if server else names.get(name, ("", name))
        if server or place in known or not known:
            written = text[entry.start() : next(end for end in ends if end > entry.start())]
            tool = ToolWeight(
                name=name,
                server=place[0],
                tool=place[1],
                size=len(written),
                tokens=estimate_tokens(written),
                definition=unescaped(written).strip().encode("utf-8", "surrogatepass"),
                in_text=True,
            )
            tools.append(tool)
    lists[key] = tuple(tools)
    return lists[key]


def total_counted(weights: Sequence[RequestWeight]) -> tuple[RequestWeight, int]:
    """Return the sum of the requests that the provider counted, of all if it counted none, and how many they are."""
    counted = [weight for weight in weights if weight.usage.input_total is not None] or weights
    usages, put_in = [weight.usage for weight in counted], Counter[str]()
    for weight in counted:
        put_in.update(weight.put_in)
    total = RequestWeight(
        request=f"{len(counted)} requests",
        size=sum(weight.size for weight in counted),
        estimate=sum(weight.estimate for weight in counted),
        usage=Usage(
            input_total=_sum_of(usage.input_total for usage in usages),
            input_cached=_sum_of(usage.input_cached for usage in usages),
            cache_written=_sum_of(usage.cache_written for usage in usages),
            output_total=_sum_of(usage.output_total for usage in usages),
            cost=_sum_of(usage.cost for usage in usages),
        ),
        tools=tuple(tool for weight in counted for tool in weight.tools),
        put_in=put_in,
        input_cost=_sum_of(weight.input_cost for weight in counted),
        cost=_sum_of(weight.cost for weight in counted),
    )
    return total, len(counted)


def _sum_of(counts: Iterable[_Number | None]) -> _Number | None:
    known = [count for count in counts if count is not None]
    return sum(known[1:], known[0]) if known else None


def calls_of(wires: Wires, section: Section) -> Counter[tuple[str, str]]:
    """Count how often tools were called, by server and tool: what models asked for, or servers were sent, whichever is more."""
    wires = wires.whole or wires
    weighed, revision = _WEIGHED.setdefault(wires.ladder, _Weighed()), wires.ladder.revision
    if section.is_session and weighed.counted == revision:
        return weighed.calls
    calls = Counter(call for weight in weigh(wires, requests_of(wires, section)) for call in weight.calls) | Counter(
        (row.peer, row.tool)
        for row in section.rows(wires.ladder)
        if row.turn and row.kind == "frame" and row.method == "tools/call" and row.outward and not row.answer
    )
    if section.is_session:
        weighed.calls, weighed.counted = calls, revision
    return calls
