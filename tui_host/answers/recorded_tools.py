"""What is taken from the records of a session as they come: the tools that servers listed, what requests weigh, and reported tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tui_host.answers.chain_values import parsed
from tui_host.capture.json.narrowing import items, mapping, text_or_empty
from tui_host.capture.json.spans import spans
from tui_host.capture.visible import decode
from tui_host.llm.outline import estimate_tokens
from tui_host.llm.tool_names import TEXT_NAMES, Known, NameRule, NameTable
from tui_host.servers.catalog import READ

if TYPE_CHECKING:
    from tui_host.capture.ladder.row import Row
    from tui_host.capture.record import Record

_TOOLS = frozenset(("tools",))
_USAGE = (b"usage", b"eval_count")
"""What the events that report tokens have in them, in all dialects."""
MOST = 4 << 20
"""The largest list that is read, in bytes."""


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


class RecordedTools:
    """Collects the tools of each capture from its frames, the facts of requests, and the events that report tokens."""

    def __init__(self) -> None:
        self._tools: dict[str, dict[Known, None]] = {}
        self._requests: dict[tuple[str, str | None], RequestFacts] = {}
        self._offered: dict[bytes, bytes] = {}
        self._usage: dict[tuple[str, str | None], bytes | None] = {}
        self._names: dict[tuple[str, NameRule], tuple[int, Mapping[str, Known]]] = {}

    def feed(self, record: Record) -> None:
        """Take in the next record."""
        if record.wire == "llm":
            self._feed_exchange((record.capture, record.exchange), record)
        if record.kind != "frame" or record.direction != "in" or len(record.data) > MOST:
            return
        tools = self._tools.setdefault(record.capture, {})
        if b'"inputSchema"' in record.data:
            for tool in items(mapping(mapping(parsed(decode(record.data))).get("result")).get("tools")):
                if name := text_or_empty(mapping(tool).get("name")):
                    tools[record.peer, name] = None
        if b'"serverInfo"' in record.data:
            tools[record.peer, READ] = None

    def _feed_exchange(self, key: tuple[str, str | None], record: Record) -> None:
        if record.kind == "request" and record.encoding is None and len(record.data) <= MOST:
            facts = facts_of(record.data)
            # Most requests repeat the list of the one before.
            self._requests[key] = replace(facts, tools=self._offered.setdefault(facts.tools, facts.tools))
        elif record.kind == "chunk":
            before = self._usage.get(key, b"")
            if record.encoding is not None or not record.data.endswith(b"\n"):
                self._usage[key] = None
            elif before is not None and any(word in record.data for word in _USAGE):
                self._usage[key] = before + record.data

    def request(self, row: Row) -> RequestFacts | None:
        """Return the facts of a request; None if its body was encoded, or is very large."""
        return self._requests.get((row.capture, row.exchange))

    def usage(self, row: Row) -> bytes:
        """Return the events of a response that report tokens; empty if its chunks do not consist of whole events."""
        return self._usage.get((row.capture, row.exchange)) or b""

    def names(self, capture: str, rule: NameRule) -> Mapping[str, Known]:
        """Return server and tool for each name under a vendor's rule and in text; of all captures if this one has no frames."""
        tools = self._tools.get(capture) or {tool: None for listed in self._tools.values() for tool in listed}
        count, names = self._names.get((capture, rule), (0, {}))
        if count != len(tools):
            names = {**NameTable.make(tools, TEXT_NAMES).known, **NameTable.make(tools, rule).known}
            self._names[capture, rule] = len(tools), names
        return names
