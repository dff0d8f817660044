"""The tools that servers listed in the records of a session, and the names that a model sees for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from tui_host.capture.json.narrowing import items, mapping, text_or_empty
from tui_host.capture.json.reading import read_json
from tui_host.capture.visible import decode
from tui_host.llm.tool_names import TEXT_NAMES, Known, NameRule, NameTable
from tui_host.servers.catalog import READ

if TYPE_CHECKING:
    from tui_host.capture.record import Record
    from tui_host.errors import JSON

MOST = 4 << 20
"""The largest list that is read, in bytes."""


class RecordedTools:
    """Collects the tools of each capture from its frames."""

    def __init__(self) -> None:
        self._tools: dict[str, dict[Known, None]] = {}
        self._names: dict[tuple[str, NameRule], tuple[int, Mapping[str, Known]]] = {}

    def feed(self, record: Record) -> None:
        """Take in the next record."""
        draft = record.draft
        if draft.kind != "frame" or draft.direction != "in" or len(draft.data) > MOST:
            return
        tools = self._tools.setdefault(record.capture, {})
        if b'"inputSchema"' in draft.data:
            tools.update(((draft.peer, name), None) for name in _listed(draft.data))
        if b'"serverInfo"' in draft.data:
            tools[draft.peer, READ] = None

    def names(self, capture: str, rule: NameRule) -> Mapping[str, Known]:
        """Return server and tool for each name under a vendor's rule and in text; of all captures if this one has no frames."""
        tools = self._tools.get(capture) or {tool: None for listed in self._tools.values() for tool in listed}
        count, names = self._names.get((capture, rule), (0, {}))
        if count != len(tools):
            names = {**NameTable.make(tools, TEXT_NAMES).known, **NameTable.make(tools, rule).known}
            self._names[capture, rule] = len(tools), names
        return names


def _listed(data: bytes) -> Iterator[str]:
    """Yield the names in a list of tools."""
    try:
        value: JSON = read_json(decode(data))
    except ValueError:
        return
    for tool in items(mapping(mapping(value).get("result")).get("tools")):
        if name := text_or_empty(mapping(tool).get("name")):
            yield name
