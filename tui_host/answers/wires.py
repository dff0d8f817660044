"""What answers are made from: the rows of a session, and the records behind them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import unquote, urlsplit

from tui_host.answers.masks import Mask
from tui_host.capture.json.narrowing import items, mapping, text_or_empty
from tui_host.capture.json.reading import read_object
from tui_host.capture.json.spans import spans
from tui_host.capture.ladder.ladder import Ladder
from tui_host.llm.dialects.table import DIALECTS, dialect_at
from tui_host.llm.outline import estimate_tokens
from tui_host.llm.tool_names import OPENAI_NAMES, TEXT_NAMES, Known, NameRule, NameTable
from tui_host.servers.catalog import READ

if TYPE_CHECKING:
    from tui_host.capture.exports.parts import Records
    from tui_host.capture.ladder.row import Row
    from tui_host.capture.record import Record, Redaction
    from tui_host.capture.session_summary import SessionInfo
    from tui_host.llm.dialects.dialect import Dialect
    from tui_host.settings.schema import Price, Provider


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """The subject of the pages of a heading."""

    clock: str = ""  # the clock of the turn's rows; empty for the whole session
    turn: int = 0  # the turn, from 1; 0 for the whole session, and for connections outside turns
    step: int = 0  # the step, from 1; 0 for a whole turn
    is_session: bool = False  # whether the whole session is meant

    @property
    def words(self) -> str:
        if self.is_session:
            return "the session"
        return f"turn {self.turn}" if self.turn else "connections"

    def rows(self, ladder: Ladder) -> Iterator[Row]:
        """Yield the rows of the session, of the turn, or of no turn, in the order of the list."""
        rows, sections = ladder.rows, ladder.sections
        for number in range(len(rows)):
            if self.is_session or sections.turn_of(number) == self.turn:
                row = rows[number]
                if self.clock in {"", row.clock}:
                    yield row


_TOOLS = frozenset(("tools",))
_USAGE = (b"usage", b"eval_count")  # what the events that report tokens have in them, in all dialects
MOST = 4 << 20  # the largest list that is read, in bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestFacts:
    """What a request's body tells without its messages."""

    size: int  # its bytes
    tokens: int  # its tokens, an estimate
    model: str  # the model it names; empty if none
    tools: bytes  # the bytes of its list of tools; empty without one


def facts_of(body: bytes) -> RequestFacts:
    """Read what a request's body tells without its messages."""
    root = spans(body, walk=_TOOLS, depth=1)
    model, tools = (None, None) if root is None else (root.get("model"), root.get("tools"))
    return RequestFacts(
        size=len(body),
        tokens=estimate_tokens(body),
        model="" if model is None else model.text(body),
        tools=b"" if tools is None else body[tools.start : tools.end],
    )


@dataclass(eq=False, slots=True)
class RecordedTools:
    """Collects the tools of each capture from its frames, the facts of requests, and the events that report tokens."""

    # The facts of requests, but of those whose body was encoded or is very large, by capture and exchange.
    requests: dict[tuple[str, str | None], RequestFacts] = field(
        default_factory=dict[tuple[str, str | None], RequestFacts]
    )
    # The events of responses that report tokens; None where the chunks do not consist of whole events.
    usage: dict[tuple[str, str | None], bytes | None] = field(
        default_factory=dict[tuple[str, str | None], bytes | None]
    )
    _tools: dict[str, dict[Known, None]] = field(default_factory=dict[str, dict[Known, None]])
    _offered: dict[bytes, bytes] = field(default_factory=dict[bytes, bytes])
    _names: dict[tuple[str, NameRule], tuple[int, Mapping[str, Known]]] = field(
        default_factory=dict[tuple[str, NameRule], tuple[int, Mapping[str, Known]]]
    )

    def feed(self, record: Record) -> None:
        """Take in the next record."""
        key = record.capture, record.exchange
        if record.kind == "request" and record.encoding is None and len(record.data) <= MOST and record.wire == "llm":
            facts = facts_of(record.data)
            # Most requests repeat the list of the one before.
            self.requests[key] = replace(facts, tools=self._offered.setdefault(facts.tools, facts.tools))
        elif record.kind == "chunk" and record.wire == "llm":
            before = self.usage.get(key, b"")
            if record.encoding is not None or not record.data.endswith(b"\n"):
                self.usage[key] = None
            elif before is not None and any(word in record.data for word in _USAGE):
                self.usage[key] = before + record.data
        if record.kind != "frame" or record.direction != "in" or len(record.data) > MOST:
            return
        tools = self._tools.setdefault(record.capture, {})
        if b'"inputSchema"' in record.data:
            for tool in items(mapping(read_object(record.data).get("result")).get("tools")):
                if name := text_or_empty(mapping(tool).get("name")):
                    tools[record.peer, name] = None
        if b'"serverInfo"' in record.data:
            tools[record.peer, READ] = None

    def names(self, capture: str, rule: NameRule) -> Mapping[str, Known]:
        """Return server and tool for each name under a vendor's rule and in text; of all captures if this one has no frames."""
        tools = self._tools.get(capture) or {tool: None for listed in self._tools.values() for tool in listed}
        count, names = self._names.get((capture, rule), (0, {}))
        if count != len(tools):
            names = {**NameTable.make(tools, TEXT_NAMES).known, **NameTable.make(tools, rule).known}
            self._names[capture, rule] = len(tools), names
        return names


LOOK_BACK = 200  # number of requests above a request among which the request before is looked for


def session_wires(session: SessionInfo, records: Records) -> RecordedWires:
    """Return the wires of a session that is exported."""
    return RecordedWires((record for record, _ in records), user="the user" if session.is_foreign else "you")


def is_of(record: Record, row: Row) -> bool:
    """Whether a record in a row's range belongs to the row or to its exchange."""
    if row.exchange:
        return record.exchange == row.exchange
    if row.kind in {"decision", "vendor"}:  # on the host's own wire, whatever server it is about
        return record.seq == row.seq
    return record.peer == row.peer and record.kind != "link"


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenRequest:
    """A request to a model taken out of its session, to be compared with requests of other sessions."""

    name: str  # the request and its session: `LLM 3 of 20261128-150121-5nhyc`
    data: bytes  # its body, decoded
    redacted: tuple[Redaction, ...]
    dialect: Dialect


class RecordedWires:
    """The rows and records of a session: stored records read once, for answers without a screen."""

    whole: RecordedWires | None = None  # for a coming request, the wires of the session that it will belong to

    def __init__(
        self,
        records: Iterable[Record],
        providers: Mapping[str, Provider] | None = None,
        mask: Mask | None = None,
        user: str = "you",
    ) -> None:
        self.ladder, self.recorded, self.user = Ladder(), RecordedTools(), user
        # What a person chose to compare requests with, by the numbers of their rows.
        self.chosen: dict[int, Row | TakenRequest] = {}
        self._providers = providers or {}
        self.hide = mask or Mask()  # what a page shows goes through it
        self._records: dict[tuple[str, int], Record] = {}
        self._exchanges: dict[tuple[str, str], list[Record]] = {}
        for record in records:
            self._records[record.key] = record
            if record.exchange is not None:
                self._exchanges.setdefault((record.capture, record.exchange), []).append(record)
            self.recorded.feed(record)
            self.ladder.feed([record])
        self.ladder.close()

    def record(self, key: tuple[str, int]) -> Record | None:
        return self._records.get(key)

    def pages_of(self, row: Row) -> Iterator[Sequence[Record]]:
        if row.exchange:
            yield self._exchanges.get((row.capture, row.exchange), [])
            return
        numbers = range(row.seq, row.last_seq + 1)
        records = (self._records.get((row.capture, number)) for number in numbers)
        yield [record for record in records if record is not None and is_of(record, row)]

    def dialect(self, row: Row) -> Dialect | None:
        """Return the dialect of a row's exchange: by its URL, else by its provider; None if unknown."""
        provider = self._providers.get(row.peer)
        return dialect_at(row.url) or (None if provider is None else DIALECTS.get(provider.dialect))

    def price(self, row: Row, model: str) -> Price | None:
        """Return the price of a request's model, which its path may name, as Gemini's does, instead of its body."""
        path = unquote(urlsplit(row.url).path)
        model = model or path.rpartition("/models/")[2].partition(":")[0]
        if (provider := self._providers.get(row.peer)) is not None:
            return provider.prices.get(model)
        known = (provider for provider in self._providers.values() if model in provider.prices)
        return next((provider.prices[model] for provider in known if row.url.startswith(provider.base_url.text)), None)

    def before(self, row: Row) -> Row | None:
        """Return the previous request of a conversation: the nearest one above with equal provider and dialect."""
        dialect, numbers = self.dialect(row), self.ladder.numbers.requests
        place = bisect_left(numbers, row.number)
        for number in reversed(numbers[max(0, place - LOOK_BACK) : place]):
            earlier = self.ladder.rows[number]
            is_alike = not earlier.missing and earlier.method == row.method and earlier.peer == row.peer
            if is_alike and self.dialect(earlier) == dialect:
                return earlier
        return None

    def called(self, row: Row) -> str:
        """Return how a row is called: `LLM 3`, `lab #4`."""
        return self.ladder.numbers.name(row)

    def compared(self, row: Row) -> Row | TakenRequest | None:
        """Return the request that a request is compared with: the chosen one, else the previous one."""
        return self.chosen.get(row.number) or self.before(row)

    def names(self, row: Row) -> Mapping[str, tuple[str, str]]:
        """Return server and tool for each tool name, as servers listed them when the row was recorded."""
        dialect = self.dialect(row)
        return self.recorded.names(row.capture, OPENAI_NAMES if dialect is None else dialect.name_rule)


Wires: TypeAlias = RecordedWires
"""Both wires of a session: its rows, and the records behind them."""
