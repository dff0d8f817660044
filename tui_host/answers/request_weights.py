"""What requests weigh: the tokens and tools of each request, what its response reported, and which tools were called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from tui_host.answers.bodies import reading
from tui_host.answers.outlines import fold_of
from tui_host.capture.json.spans import spans
from tui_host.llm.messages import Usage
from tui_host.llm.outline import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tui_host.answers.section import Section
    from tui_host.answers.steps import Steps
    from tui_host.answers.wires import Wires
    from tui_host.capture.ladder.ladder import Ladder
    from tui_host.capture.ladder.row import Row

_TOOLS = frozenset(("tools",))
MOST = 8 << 20
"""Bytes of a body that is weighed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolWeight:
    """A tool in a request.

    Attributes:
        name: The name that the model sees.
        server: Its server; empty for a tool of nobody that is known.
        tool: The name that the server gave it.
        size: Bytes of its definition in the request.
        tokens: Its tokens, an estimate.
        definition: The bytes of the definition.
    """

    name: str
    server: str
    tool: str
    size: int
    tokens: int
    definition: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestWeight:
    """A request and what its response reported.

    Attributes:
        request: Its name: `LLM 3`.
        row: Its row, by capture and number of its first record.
        size: Bytes of its body.
        estimate: Its tokens, an estimate.
        usage: The tokens that the provider reported.
    """

    request: str
    row: tuple[str, int]
    size: int = 0
    estimate: int = 0
    usage: Usage = field(default_factory=Usage)

    @property
    def off_by(self) -> str:
        """How far the estimate is from the provider's count: `-5 %`; empty without one."""
        reported = self.usage.input_total
        return f"{round(100 * (self.estimate - reported) / reported):+d} %" if reported else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WeighedRequest:
    """A request with its tools and calls.

    Attributes:
        weight: Its size and tokens.
        tools: The offered tools.
        calls: The names of the tools that the response asks for.
    """

    weight: RequestWeight
    tools: tuple[ToolWeight, ...] = ()
    calls: tuple[str, ...] = ()


@dataclass(slots=True)
class _Weighed:
    """What was read once, of the rows of one ladder."""

    requests: dict[tuple[str, int], WeighedRequest] = field(default_factory=dict[tuple[str, int], WeighedRequest])
    lists: dict[tuple[str, str, bytes], tuple[ToolWeight, ...]] = field(
        default_factory=dict[tuple[str, str, bytes], tuple[ToolWeight, ...]]
    )


_WEIGHED: WeakKeyDictionary[Ladder, _Weighed] = WeakKeyDictionary()
"""Weights are kept as long as the rows: equal lists of tools, which most requests repeat, are taken apart once."""


def requests_of(wires: Wires, section: Section) -> Sequence[Row]:
    """Return the requests to models of a section: those of its step, its turn, or the session."""
    ladder = wires.ladder
    rows = (ladder.rows[number] for number in ladder.numbers.requests)
    if section.is_session:
        return list(rows)
    of_turn = [row for row in rows if ladder.sections.turn_of(row.number) == section.turn]
    of_turn = [row for row in of_turn if section.clock in {"", row.clock}]
    return [row for row in of_turn if section.step in {0, row.step}]


def weigh(wires: Wires, rows: Sequence[Row]) -> Steps[list[WeighedRequest]]:
    """Weigh requests with their responses; those weighed before are not read again."""
    weighed = _WEIGHED.setdefault(wires.ladder, _Weighed())
    weights: list[WeighedRequest] = []
    for row in rows:
        key = row.capture, row.seq
        weight = weighed.requests.get(key)
        if weight is None:
            weight = yield from _weight(wires, row, wires.called(row), weighed)
            if not _is_open(wires, row):
                weighed.requests[key] = weight
        weights.append(weight)
    return weights


def _is_open(wires: Wires, row: Row) -> bool:
    """Whether a response may still come or grow."""
    partner = wires.ladder.partner(row.number)
    return (row if partner is None else wires.ladder.rows[partner]).state == "open"


def _weight(wires: Wires, row: Row, name: str, weighed: _Weighed) -> Steps[WeighedRequest]:
    dialect = wires.dialect(row)
    if row.missing or row.size > MOST:
        return WeighedRequest(weight=RequestWeight(request=name, row=(row.capture, row.seq), size=row.size))
    body = yield from reading(wires, row)
    tools = _tools(wires, row, body.data, weighed)
    yield f"{name} weighed"
    usage, calls = Usage(), ()
    partner = wires.ladder.partner(row.number)
    response = None if partner is None else wires.ladder.rows[partner]
    if response is not None and dialect is not None and response.status < 400 and not response.missing:
        answer = yield from reading(wires, response)
        fold = yield from fold_of(wires, response, answer, dialect)
        usage, calls = fold.usage, tuple(call.call.name for call in fold.calls)
    weight = RequestWeight(
        request=name,
        row=(row.capture, row.seq),
        size=len(body.data),
        estimate=estimate_tokens(body.data),
        usage=usage,
    )
    return WeighedRequest(weight=weight, tools=tools, calls=calls)


def _tools(wires: Wires, row: Row, body: bytes, weighed: _Weighed) -> tuple[ToolWeight, ...]:
    """Return the tools that a request offers in the list of its dialect."""
    root, dialect = spans(body, walk=_TOOLS, depth=1), wires.dialect(row)
    node = root.get("tools") if root is not None else None
    if node is None or dialect is None:
        return ()
    offered = body[node.start : node.end]
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


def calls_of(wires: Wires, section: Section, weights: Sequence[WeighedRequest]) -> Counter[tuple[str, str]]:
    """Count how often tools were called, by server and tool: what models asked for, or servers were sent, whichever is more."""
    names = {tool.name: (tool.server, tool.tool) for weight in weights for tool in weight.tools}
    asked = Counter(names.get(name, ("", name)) for weight in weights for name in weight.calls)
    sent = Counter((row.peer, row.tool) for row in _sent(wires, section))
    return asked | sent


def _sent(wires: Wires, section: Section) -> Iterator[Row]:
    for row in section.rows(wires.ladder):
        if row.turn and row.kind == "frame" and row.method == "tools/call" and row.outward and not row.answer:
            yield row
