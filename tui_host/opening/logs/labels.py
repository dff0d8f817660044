"""What names the exchanges of a log in the words before their JSON, and what a log teaches of such names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeVar

from tui_host.opening.time_formats import TIME

_Of = TypeVar("_Of")
IDS_MOST = 4096
"""Names and ids that are remembered."""
_KEY = re.compile(
    r"\b(?:(?:request|req|exchange|trace|correlation)[ _-]?)?id[\"']?\s?[=:]\s?[\"']?([\w-]{1,64})|\breq(?:uest)?\s?#\s?(\d{1,12})",
    re.IGNORECASE,
)

_LABEL = re.compile(r"\[([A-Za-z_.-]{0,40}\d[\w.-]{0,63})\]|(?<![\w#])#(\d{1,12})\b|\b(req(?:uest)?-\w[\w-]{0,63})")


def key_in(words: str) -> str:
    """What names an exchange in the words before its JSON; empty if nothing does."""
    if not any(part in words for part in ("id", "Id", "ID", "#")):
        return ""  # as in most lines, without a look for more
    found = _KEY.search(words)
    return "" if found is None else found[1] or found[2]


def label_in(words: str) -> str:
    """What stands there as a label, with a number in it; empty if nothing does."""
    found = _LABEL.search(TIME.sub("", words))
    return "" if found is None else found[1] or found[2] or found[3]


def remember(names: dict[str, _Of], name: str, what: _Of) -> None:
    """As the last one; the first goes where there are too many."""
    names.pop(name, None)
    names[name] = what
    if len(names) > IDS_MOST:
        del names[next(iter(names))]


@dataclass(slots=True)
class Habits:
    """What a log taught of its answers.

    Attributes:
        is_mixed: They came while others did: after one that may be to several requests, another may be to the rest of these.
        have_ids: An id of a piece is that of its stream: not one of each piece alone, nor the same of all.
        have_labels: What stands before them in brackets, or behind `#`, names the exchange.
        have_keys: What is called an id, or is such a label, names one exchange: not all of a client, or of a session.
        mark: How the word is written that names the exchange beside all of it (see `marks`); empty where none is known to.
        spoken: The dialects in which they are written.
        elsewhere: What names the exchanges that were asked for in another file.
    """

    is_mixed: bool = False
    have_ids: bool = True
    have_labels: bool = False
    have_keys: bool = True
    mark: str = ""
    spoken: frozenset[str] = frozenset()
    elsewhere: frozenset[str] = frozenset()


class Labels:
    """Learns whether what stands in brackets or behind `#` names the exchange: before each request, and before its answer alone.

    Attributes:
        do_name: Whether it may, as far as was heard.
    """

    def __init__(self) -> None:
        self.do_name = True
        self._asked: dict[str, bool] = {}

    @property
    def are_several(self) -> bool:
        """Whether they told exchanges apart."""
        return self.do_name and len(self._asked) > 1

    def hear(self, label: str, *, is_request: bool) -> None:
        """It stood before a request, or before an answer."""
        if is_request:
            self.do_name &= bool(label) and not self._asked.get(label)
            remember(self._asked, label, what=True)
        else:
            self.do_name &= label in self._asked
            self._asked[label] = False
        if not self.do_name:
            self._asked.clear()
