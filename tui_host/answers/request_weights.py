"""What requests weigh: the tokens and tools of each request, what its response reported, and which tools were called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakKeyDictionary

from tui_host.answers.bodies import reading, unescaped
from tui_host.answers.outlines import fold_of, marks_of
from tui_host.answers.prompted_tools import LISTS, listed_tools
from tui_host.answers.recorded_tools import facts_of
from tui_host.answers.token_prices import cost_of
from tui_host.answers.wires import partner_of
from tui_host.llm.fold import Fold
from tui_host.llm.messages import Usage
from tui_host.llm.outline import estimate_tokens

if TYPE_CHECKING:
    from tui_host.answers.section import Section
    from tui_host.answers.steps import Steps
    from tui_host.answers.wires import Wires
    from tui_host.capture.ladder.ladder import Ladder
    from tui_host.capture.ladder.row import Row
    from tui_host.capture.link import Link
    from tui_host.llm.dialects.dialect import Dialect

_Number = TypeVar("_Number", int, float)
MOST = 8 << 20
"""Bytes of a body that is weighed."""


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
    """A request and what its response reported."""

    request: str  # its name: `LLM 3`
    row: tuple[str, int]  # its row, by capture and number of its first record
    size: int = 0  # bytes of its body
    estimate: int = 0  # its tokens, an estimate
    usage: Usage = field(default_factory=Usage)  # the tokens that the provider reported
    tools: int = 0  # bytes of its tools
    put_in: Mapping[str, int] = field(default_factory=dict[str, int])  # bytes that the tool protocol put in, by purpose
    input_cost: float | None = None  # what its input cost by the configured prices; None without them
    cost: float | None = None  # what it cost with the response

    @property
    def off_by(self) -> str:
        """How far the estimate is from the provider's count: `-5 %`; empty without one."""
        reported = self.usage.input_total
        return f"{round(100 * (self.estimate - reported) / reported):+d} %" if reported else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WeighedRequest:
    """A request with its tools and calls."""

    weight: RequestWeight  # its size and tokens
    tools: tuple[ToolWeight, ...] = ()  # the offered tools
    calls: tuple[tuple[str, str], ...] = ()  # the tools that the response asks for, by server and name


@dataclass(slots=True)
class _Weighed:
    """What was read once, of the rows of one ladder."""

    requests: dict[tuple[str, int], WeighedRequest] = field(default_factory=dict[tuple[str, int], WeighedRequest])
    lists: dict[tuple[str, str, bytes], tuple[ToolWeight, ...]] = field(
        default_factory=dict[tuple[str, str, bytes], tuple[ToolWeight, ...]]
    )
    calls: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    counted: int = -1
    """The revision of the rows in which the session's calls were counted."""


_WEIGHED: WeakKeyDictionary[Ladder, _Weighed] = WeakKeyDictionary()
"""Weights are kept as long as the rows: equal lists of tools, which most requests repeat, are taken apart once."""


def requests_of(wires: Wires, section: Section) -> Sequence[Row]:
    """Return the requests to models of a section: those of its step, its turn, or the session."""
    ladder = wires.ladder
    numbers = ladder.numbers.requests
    if section.is_session:
        return [ladder.rows[number] for number in numbers]
    of_turn = [ladder.rows[number] for number in numbers if ladder.sections.turn_of(number) == section.turn]
    return [row for row in of_turn if section.clock in {"", row.clock} and section.step in {0, row.step}]


def weigh(wires: Wires, rows: Sequence[Row]) -> Steps[list[WeighedRequest]]:
    """Weigh requests with their responses; those weighed before are not read again."""
    weighed = _WEIGHED.setdefault(wires.ladder, _Weighed())
    weights: list[WeighedRequest] = []
    for row in rows:
        key = row.capture, row.seq
        weight = weighed.requests.get(key)
        if weight is None:
            weight = yield from _weight(wires, row, wires.called(row), weighed)
            if (partner_of(wires, row) or row).state != "open":
                weighed.requests[key] = weight
        weights.append(weight)
    return weights


def _weight(wires: Wires, row: Row, name: str, weighed: _Weighed) -> Steps[WeighedRequest]:
    dialect = wires.dialect(row)
    if row.missing or row.size > MOST:
        return WeighedRequest(weight=RequestWeight(request=name, row=(row.capture, row.seq), size=row.size))
    facts = wires.recorded.request(row) or facts_of((yield from reading(wires, row)).data)
    marks = marks_of(wires, row)
    tools = _declared(wires, row, facts.tools, weighed)
    if not tools and any(mark.words == LISTS for mark in marks):
        tools = _written(wires, row, (yield from reading(wires, row)).data, marks, weighed)
    yield f"{name} weighed"
    response = partner_of(wires, row)
    usage, calls = Usage(), ()
    if response is not None and dialect is not None and response.status < 400 and not response.missing:
        usage = yield from _usage(wires, response, dialect)
        asked = [mark for mark in marks_of(wires, response) if mark.relation == "asked"]
        calls = tuple((mark.server, mark.tool) for mark in asked)
    put_in: Counter[str] = Counter()
    for mark in marks:
        if mark.relation == "injected":
            put_in[mark.words] += mark.span.size
    input_cost, cost = cost_of(usage, wires.price(row, facts.model))
    weight = RequestWeight(
        request=name,
        row=(row.capture, row.seq),
        size=facts.size,
        estimate=facts.tokens,
        usage=usage,
        tools=sum(tool.size for tool in tools),
        put_in=put_in,
        input_cost=input_cost,
        cost=cost,
    )
    return WeighedRequest(weight=weight, tools=tools, calls=calls)


def _usage(wires: Wires, response: Row, dialect: Dialect) -> Steps[Usage]:
    """Return the tokens that a response reports: from the events that have them, else from all of it."""
    if known := wires.recorded.usage(response):
        fold, decoder = Fold(provider="", model="", call_id=str), dialect.decoder("")
        for event in (*decoder.feed(known), *decoder.finish()):
            fold.add(event)
        if fold.usage.input_total is not None:
            return fold.usage
    body = yield from reading(wires, response)
    return (yield from fold_of(wires, response, body, dialect)).usage


def _declared(wires: Wires, row: Row, offered: bytes, weighed: _Weighed) -> tuple[ToolWeight, ...]:
    """Return the tools that a request offers in the list of its dialect."""
    dialect = wires.dialect(row)
    if not offered or dialect is None:
        return ()
    key = row.capture, dialect.name, offered
    if key not in weighed.lists:
        names = wires.names(row)
        outline = dialect.outline(b'{"tools":%s}' % offered, names)
        parts = () if outline is None else (part for part in outline.walk() if part.kind == "tool")
        weighed.lists[key] = tuple(
            ToolWeight(
                name=part.name,
                server=names.get(part.name, ("", ""))[0],
                tool=names.get(part.name, ("", part.name))[1],
                size=part.size,
                tokens=part.tokens,
                definition=b"" if outline is None else outline.bytes_of(part),
            )
            for part in parts
        )
    return weighed.lists[key]


def _written(wires: Wires, row: Row, body: bytes, marks: Sequence[Link], weighed: _Weighed) -> tuple[ToolWeight, ...]:
    """Return the tools that a tool protocol wrote into the prompt of a request, as far as its list can be told apart."""
    text = b"".join(piece for mark in marks if mark.words == LISTS for piece in mark.span.pieces(body))
    key = row.capture, LISTS, text
    if text and key not in weighed.lists:
        weighed.lists[key] = tuple(
            ToolWeight(
                name=tool.name,
                server=tool.server,
                tool=tool.tool,
                size=tool.end - tool.start,
                tokens=estimate_tokens(text[tool.start : tool.end]),
                definition=unescaped(text[tool.start : tool.end]).strip().encode("utf-8", "surrogatepass"),
                in_text=True,
            )
            for tool in listed_tools(text, wires.names(row))
        )
    return weighed.lists.get(key, ())


def total_of(weights: Sequence[RequestWeight]) -> RequestWeight:
    """Sum requests."""
    put_in: Counter[str] = Counter()
    for weight in weights:
        put_in.update(weight.put_in)
    usages = [weight.usage for weight in weights]
    return RequestWeight(
        request=f"{len(weights)} requests",
        row=("", 0),
        size=sum(weight.size for weight in weights),
        estimate=sum(weight.estimate for weight in weights),
        usage=Usage(
            input_total=_sum_of(usage.input_total for usage in usages),
            input_cached=_sum_of(usage.input_cached for usage in usages),
            cache_written=_sum_of(usage.cache_written for usage in usages),
            output_total=_sum_of(usage.output_total for usage in usages),
            cost=_sum_of(usage.cost for usage in usages),
        ),
        tools=sum(weight.tools for weight in weights),
        put_in=put_in,
        input_cost=_sum_of(weight.input_cost for weight in weights),
        cost=_sum_of(weight.cost for weight in weights),
    )


def total_counted(weights: Sequence[RequestWeight]) -> tuple[RequestWeight, int]:
    """Return the sum of the requests that the provider counted, of all if it counted none, and how many they are."""
    counted = [weight for weight in weights if weight.usage.input_total is not None] or weights
    return total_of(counted), len(counted)


def _sum_of(counts: Iterable[_Number | None]) -> _Number | None:
    """Sum what is known; None if nothing is."""
    known = [count for count in counts if count is not None]
    return sum(known[1:], known[0]) if known else None


def calls_of(wires: Wires, section: Section) -> Steps[Counter[tuple[str, str]]]:
    """Count how often tools were called, by server and tool: what models asked for, or servers were sent, whichever is more."""
    weighed, revision = _WEIGHED.setdefault(wires.ladder, _Weighed()), wires.ladder.revision
    if section.is_session and weighed.counted == revision:
        return weighed.calls
    weights = yield from weigh(wires, requests_of(wires, section))
    calls = Counter(call for weight in weights for call in weight.calls) | Counter(
        (row.peer, row.tool)
        for row in section.rows(wires.ladder)
        if row.turn and row.kind == "frame" and row.method == "tools/call" and row.outward and not row.answer
    )
    if section.is_session:
        weighed.calls, weighed.counted = calls, revision
    return calls
