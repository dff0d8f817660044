"""The wires of stored records: a session read once, for answers without a screen."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from tui_host.answers.masks import Mask
from tui_host.answers.recorded_tools import RecordedTools
from tui_host.answers.token_prices import price_of
from tui_host.capture.ladder.ladder import Ladder
from tui_host.llm.dialects.table import DIALECTS, dialect_at
from tui_host.llm.tool_names import OPENAI_NAMES

if TYPE_CHECKING:
    from tui_host.answers.wires import TakenRequest
    from tui_host.capture.exports.parts import Records
    from tui_host.capture.ladder.row import Row
    from tui_host.capture.record import Record
    from tui_host.capture.session_summary import SessionInfo
    from tui_host.llm.dialects.dialect import Dialect
    from tui_host.settings.schema import Price, Provider

LOOK_BACK = 200
"""Number of requests above a request among which the request before is looked for."""


def earlier_request(ladder: Ladder, row: Row, dialect_of: Callable[[Row], Dialect | None]) -> Row | None:
    """Return the nearest request above a row with equal provider and dialect; None without one."""
    dialect, numbers = dialect_of(row), ladder.numbers.requests
    place = bisect_left(numbers, row.number)
    for number in reversed(numbers[max(0, place - LOOK_BACK) : place]):
        earlier = ladder.rows[number]
        is_alike = not earlier.missing and earlier.method == row.method and earlier.peer == row.peer
        if is_alike and dialect_of(earlier) == dialect:
            return earlier
    return None


def dialect_of(providers: Mapping[str, Provider], row: Row) -> Dialect | None:
    """Return the dialect of a row's exchange: by its URL, else by its provider."""
    provider = providers.get(row.peer)
    return dialect_at(row.url) or (None if provider is None else DIALECTS.get(provider.dialect))


class RecordedWires:
    """The rows and records of a session.

    Args:
        records: All records, in order.
        providers: The providers by name, for prices, and for the dialects that URLs do not tell.
        mask: Hides the secrets that are known now.
        user: Who asks the model.
    """

    def __init__(
        self,
        records: Iterable[Record],
        providers: Mapping[str, Provider] | None = None,
        mask: Mask | None = None,
        user: str = "you",
    ) -> None:
        self.ladder = Ladder()
        self.user = user
        self._providers = providers or {}
        self._mask = mask or Mask()
        self._records: dict[tuple[str, int], Record] = {}
        self._exchanges: dict[tuple[str, str], list[Record]] = {}
        self.recorded = RecordedTools()
        for record in records:
            self._records[record.key] = record
            if record.exchange is not None:
                self._exchanges.setdefault((record.capture, record.exchange), []).append(record)
            self.recorded.feed(record)
            self.ladder.feed([record])
        self.ladder.close()

    def record(self, key: tuple[str, int]) -> Record | None:
        """Return a record by its capture and number."""
        return self._records.get(key)

    def pages_of(self, row: Row) -> Iterator[Sequence[Record]]:
        """Yield the records of a row, and of its other half, in one page."""
        if row.exchange:
            yield self._exchanges.get((row.capture, row.exchange), [])
            return
        numbers = range(row.seq, row.last_seq + 1)
        records = (self._records.get((row.capture, number)) for number in numbers)
        yield [record for record in records if record is not None and is_of(record, row)]

    def dialect(self, row: Row) -> Dialect | None:
        """Return the dialect of a row's exchange: by its URL, else by its provider."""
        return dialect_of(self._providers, row)

    def price(self, row: Row, model: str) -> Price | None:
        """Return the price of a request's model."""
        return price_of(self._providers, row, model)

    def before(self, row: Row) -> Row | None:
        """Return the previous request of a request's conversation."""
        return earlier_request(self.ladder, row, self.dialect)

    def called(self, row: Row) -> str:
        """Return how a row is called: `LLM 3`, `lab #4`."""
        return self.ladder.numbers.name(row)

    def compared(self, row: Row) -> Row | TakenRequest | None:
        """Return the previous request: stored records have no marks."""
        return self.before(row)

    def names(self, row: Row) -> Mapping[str, tuple[str, str]]:
        """Return server and tool for each tool name, as servers listed them when the row was recorded."""
        dialect = self.dialect(row)
        return self.recorded.names(row.capture, OPENAI_NAMES if dialect is None else dialect.name_rule)

    def hide(self, text: str) -> str:
        """Mask the secrets that are known now."""
        return self._mask(text)


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
