"""Which word of a log names the exchange beside everything of it, whatever it is called: that is learnt where several go on at the same time.

It has a value for each of them, stands beside each request and all of its answer, and what stands beside one value is one answer to each
request, from its beginning to its end. Numbers of lines, times and what a message is about are none of that.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tui_host.capture.json.narrowing import items, mapping
from tui_host.errors import JSON
from tui_host.opening.course import Course, is_of_a_course
from tui_host.opening.logs.forms import Forms
from tui_host.opening.logs.labels import IDS_MOST
from tui_host.opening.quote import Around
from tui_host.opening.single import Single, piece_of
from tui_host.opening.stream_pieces import id_of
from tui_host.opening.time_formats import TIME
from tui_host.opening.wire_detection import is_piece

_WORD = re.compile(
    r"(?:(?<![\w.-])([^\W\d][\w.-]{0,39})[\"']?\s?[=:：]\s?)?"
    r"([\[(<【（「《\"']?)((?<![\w.:-])\w[\w.-]{0,63}(?::\d{1,5})?(?![\w.-]))"
)
"""What it is called, a bracket, and what stands there."""
_NUMBER = re.compile(r"\d+")
_HEX = re.compile(r"[0-9A-Fa-f-]{6,}")
PROVING = 4
"""So many whole answers, or half as many streams, have to have ended beside it: what is whole is so beside any word."""


def marks_in(found: Around) -> dict[str, str]:
    """What may name the exchange of what stands there, by how it is written; nothing that is empty."""
    marks: dict[str, set[str]] = {f'"{name}"': {value} for name, value in found.members.items()}
    for name, bracket, word in _WORD.findall(TIME.sub("", found.words)):
        if name:
            marks.setdefault(f"{name}=", set()).add(word)
        elif any(character.isdigit() for character in word) and (bracket or not word.isdigit()):
            shape = "hex" if _HEX.fullmatch(word) else _NUMBER.sub("0", word)
            marks.setdefault(bracket + shape, set()).add(word)
    return {form: " ".join(sorted(values)) for form, values in marks.items()}  # both ends of a connection change places


class Heard:
    """What was heard of one exchange.

    Attributes:
        number: How many were asked for before it.
        body: The hash of its request's.
        is_answered: Something of its answer came.
        is_over: All of it did.
        weight: How much it proves that it was one, then.
    """

    def __init__(self, number: int, body: int) -> None:
        self.number = number
        self.body = body
        self.is_answered = self.is_over = False
        self.weight = 0
        self._name = ""
        self._course = Course()
        self._single = Single()

    def takes(self, event: JSON) -> bool:
        """Whether an event, or a whole answer, may be the next of its answer."""
        was_over, self.is_answered = self.is_over, True
        if is_of_a_course(event):
            is_right = self._course.takes(event)
            self.is_over = self._course.is_ended
            return is_right
        name = id_of(event)
        is_other = bool(name and self._name and name != self._name)
        self._name = self._name or name
        piece = piece_of(event)
        is_of_several = piece is not None and not self._single.takes(piece, 0)
        is_whole = not is_piece(event) and mapping(event).get("done") is not False and not _is_of_gemini(event)
        self.is_over |= is_whole or self._single.is_over or _is_last_of_gemini(event)
        if was_over and (piece is None or is_whole):
            return True  # many write the whole answer behind its pieces
        return not (is_other or is_of_several or (was_over and piece is not None and piece.says))


def _is_of_gemini(event: JSON) -> bool:
    return "candidates" in mapping(event)


def _is_last_of_gemini(event: JSON) -> bool:
    return any(mapping(each).get("finishReason") for each in items(mapping(event).get("candidates")))


class _Mark:
    """What was heard of one way to write such a word."""

    def __init__(self) -> None:
        self._exchanges: dict[str, Heard] = {}
        self._open: set[str] = set()
        self._last = -1
        self._asked = self._proved = 0
        self._are_several = self._do_recur = False

    @property
    def count(self) -> int:
        """How many exchanges it told apart; 0 if it is not certain that it does."""
        is_sure = self._are_several and self._do_recur and self._proved >= PROVING
        return len(self._exchanges) if is_sure else 0

    def asks(self, value: str, body: int) -> bool:
        """A request with it; says whether that may be."""
        known = self._exchanges.get(value)
        if known is not None and not known.is_answered and known.body != body:
            return False  # of a client that asks for several
        self._are_several |= bool(self._open - {value})
        self._do_recur |= known is not None and known.is_answered
        self._exchanges[value] = Heard(self._asked, body)
        self._open.add(value)
        self._asked += 1
        return len(self._exchanges) <= IDS_MOST

    def says(self, value: str, events: Sequence[JSON]) -> bool:
        """Events of an answer, or all of it; says whether that may be."""
        known = self._exchanges.get(value)
        if known is None:
            return False
        was_over, known.weight = known.is_over, min(known.weight + 1, 2)
        if not all(known.takes(event) for event in events):
            return False
        self._do_recur |= known.number < self._last  # no count of answers, which the requests have one of, too
        self._last = known.number
        if known.is_over and not was_over:
            self._open.discard(value)
            self._proved += known.weight
        return True


class Marks(Forms[_Mark]):
    """Learns which word names the exchanges of a log."""

    def __init__(self) -> None:
        super().__init__(_Mark, marks_in)

    @property
    def name(self) -> str:
        """How the word is written that tells most of them apart; empty if none surely does."""
        counts = {form: mark.count for form, mark in self.left.items()}
        best = max(counts, key=lambda form: counts[form], default="")
        return best if counts.get(best) else ""
