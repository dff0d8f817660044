"""The course that a stream takes whose events do not say of which answer they are: begun once, each part begun and ended once, ended once.

Source: llm-dialects.md, the streams of Anthropic's and of OpenAI's Responses.
"""

from __future__ import annotations

from tui_host.capture.json.narrowing import mapping
from tui_host.errors import JSON

FIRST = frozenset({"message_start", "response.created"})
LAST = frozenset({"message_stop", "response.completed", "response.failed", "response.incomplete"})
_OF_ONE = ("message_", "content_block_", "response.")
"""So begin the kinds of events that come in such streams alone."""


def kind_of(event: JSON) -> str:
    """What kind of event it is, of those that say it; else empty."""
    kind = mapping(event).get("type")
    return kind if isinstance(kind, str) else ""


def is_of_a_course(event: JSON) -> bool:
    """Whether an event is of such a stream."""
    return kind_of(event).startswith(_OF_ONE)


class Course:
    """What came of one stream so far.

    Attributes:
        is_begun: Its first event came.
        is_ended: Its last one did.
    """

    def __init__(self) -> None:
        self.is_begun = self.is_ended = False
        self._id: JSON = None
        self._number: int | None = None
        self._parts: set[JSON] = set()
        self._open: set[JSON] = set()

    def takes(self, event: JSON) -> bool:
        """Whether an event may be the next one."""
        kind = kind_of(event)
        if kind in FIRST:
            may_be = not self.is_begun
            self.is_begun = True
            self._id = mapping(mapping(event).get("response")).get("id")
        else:
            may_be = self.is_begun and not self.is_ended
        if kind in LAST:
            self.is_ended = True
        if kind.startswith("content_block_"):
            return self._takes_block(kind, mapping(event).get("index")) and may_be
        return (not kind.startswith("response.") or self._takes_response(kind, event)) and may_be

    def _takes_block(self, kind: str, index: JSON) -> bool:
        if not isinstance(index, int):
            return True
        match kind:
            case "content_block_start":
                is_new = index not in self._parts
                self._parts.add(index)
                self._open.add(index)
                return is_new
            case "content_block_stop":
                was_open = index in self._open
                self._open.discard(index)
                return was_open
            case _:
                return index in self._open

    def _takes_response(self, kind: str, event: JSON) -> bool:
        body = mapping(event)
        number = body.get("sequence_number")
        if isinstance(number, int):
            before, self._number = self._number, number
            if before not in {None, number - 1}:
                return False
        name = mapping(body.get("response")).get("id")
        if name is not None and self._id is not None and name != self._id:
            return False
        if kind == "response.output_item.added":
            part = body.get("output_index")
            is_new = not isinstance(part, int) or part not in self._parts
            self._parts.add(part if isinstance(part, int) else None)
            item = mapping(body.get("item")).get("id")
            self._open.add(item if isinstance(item, str) else None)
            return is_new
        item = body.get("item_id")
        return not isinstance(item, str) or not self._open or item in self._open
