"""All ways in which hosts speak to models: the dialects, and the tool protocols of plain text over one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.infer.dialects import DIALECTS, SYSTEM, Answer, Call, Entry, Form, Results, Spoken, User, dumped
from tests.infer.worded import WORDED, Worded, words_of

NAMES: Sequence[str] = (*DIALECTS, *WORDED)


def form(name: str, names: Sequence[str] = (), dialect: str = "openai") -> Form:
    """A dialect, or a tool protocol of plain text over one, whose prompt lists these tools."""
    return DIALECTS[name] if name in DIALECTS else Worded(words_of(names)[name], DIALECTS[dialect])


def _usual(name: str) -> Form:
    return DIALECTS.get(name) or Worded(words_of(())[name], Spoken(model="deepseek-chat"))


FORMS: Mapping[str, Form] = {name: _usual(name) for name in NAMES}

__all__ = [
    "DIALECTS",
    "FORMS",
    "NAMES",
    "SYSTEM",
    "Answer",
    "Call",
    "Entry",
    "Form",
    "Results",
    "User",
    "dumped",
    "form",
]
