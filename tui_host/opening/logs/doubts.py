"""What speaks against answers that belong to requests by their numbers alone: who asks for several at once gets first what is done first."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from tui_host.capture.json.narrowing import items, mapping, said
from tui_host.errors import JSON
from tui_host.opening.drafts import read_value

_MODEL = re.compile(rb'(?<!\\)"model"\s*:\s*"([^"\\]{1,200})"')
_NAME = re.compile(rb'(?<!\\)"name"\s*:\s*"([^"\\]{1,200})"')
"""As an answer has them: in a text of the model's these quotes stand behind backslashes."""
_EVENT = re.compile(rb"(?m)^(?:data:[ \t]?)?(\{.*)")
_QUOTED = frozenset({"text", "content", "id", "call_id"})
"""Members of an answer that stand again in a request that goes on from it."""
_LISTS = ("messages", "input", "contents")
_OF_MODELS = frozenset({"assistant", "model"})


class Answer(NamedTuple):
    """An answer, as the file has it.

    Attributes:
        begin: Where it begins among all pieces of the file.
        end: Where it ends there.
        data: Its bytes.
        is_streamed: It came as a stream.
    """

    begin: int
    end: int
    data: bytes
    is_streamed: bool


class _Asked(NamedTuple):
    """What a request tells of its answer.

    Attributes:
        model: Whose it should be.
        is_streamed: It should come as a stream.
        tools: What may be called in it.
        last: The message that it is to.
    """

    model: str
    is_streamed: bool
    tools: frozenset[str]
    last: int


class _Quoted(NamedTuple):
    """Where a request quotes an answer.

    Attributes:
        place: Behind so many of the request's messages.
        firsts: The first place of each of these.
        asked_at: The first place of one with which any request ends.
    """

    place: int
    firsts: Mapping[int, int]
    asked_at: int

    def is_behind(self, message: int) -> bool:
        """Whether a message stands before it there."""
        return self.firsts.get(message, self.place) < self.place

    @property
    def is_behind_a_question(self) -> bool:
        """Whether one does with which some request ends."""
        return self.asked_at < self.place


class _Said(NamedTuple):
    """What an answer tells of its request.

    Attributes:
        model: Whose it is; empty if it does not say.
        is_streamed: It came as a stream.
        tools: What it calls of all that is offered.
        quoted: Where it is quoted; None if it is not.
    """

    model: str
    is_streamed: bool
    tools: frozenset[str]
    quoted: _Quoted | None


def may_be_otherwise(requests: Sequence[bytes], answers: Sequence[Answer], pairs: Mapping[int, int]) -> bool:
    """Whether answers may be to other requests than those of their numbers.

    They may where several came at the same time, and where one is as another request asked for it: of its model, in its form, with a
    tool that it offers, or quoted later behind its message.

    Args:
        requests: The bodies.
        answers: What was said, in the order in which each begins.
        pairs: By the number of each answer that of a request.
    """
    if any(answer.begin < other.end for other, answer in pairwise(answers)):
        return True
    values = [read_value(body) for body in requests]
    asked = [_asked(mapping(value)) for value in values]
    offered = frozenset[str]().union(*(each.tools for each in asked))
    quoted = _quoted(values, answers, {each.last for each in asked})
    told = [_said(answer, offered, quoted.get(number)) for number, answer in enumerate(answers)]
    models, forms, offers = ({each[at] for each in asked} for at in range(3))
    for answer, request in pairs.items():
        it, of = told[answer], asked[request]
        if (
            (it.model != of.model and it.model in models)
            or (it.is_streamed != of.is_streamed and it.is_streamed in forms)
            or (not it.tools <= of.tools and any(it.tools <= each for each in offers if isinstance(each, frozenset)))
            or (it.quoted is not None and not it.quoted.is_behind(of.last) and it.quoted.is_behind_a_question)
        ):
            return True
    return False


def _asked(body: Mapping[str, JSON]) -> _Asked:
    said_before = _messages(body)
    return _Asked(
        said(body.get("model")),
        body.get("stream") is True,
        frozenset(_tools(body.get("tools"))),
        _hash(said_before[-1]) if said_before else 0,
    )


def _tools(value: JSON) -> Iterator[str]:
    for tool in items(value):
        declared = items(mapping(tool).get("functionDeclarations")) or [mapping(tool).get("function") or tool]
        yield from (name for each in declared if isinstance(name := mapping(each).get("name"), str))


def _said(answer: Answer, offered: frozenset[str], quoted: _Quoted | None) -> _Said:
    named = _MODEL.search(answer.data)
    names = {found[1].decode("utf-8", "replace") for found in _NAME.finditer(answer.data)}
    model = "" if named is None else named[1].decode("utf-8", "replace")
    return _Said(model, answer.is_streamed, offered & names, quoted)


def _quoted(requests: Sequence[JSON], answers: Sequence[Answer], lasts: Container[int]) -> dict[int, _Quoted]:
    """Where each answer is quoted by a request, if no other is like it; the messages with which requests end tell what each is to."""
    answer_of: dict[str, int] = {}
    for number, answer in enumerate(answers):
        for text in _texts_of(answer):
            answer_of[text] = number if answer_of.get(text, number) == number else -1
    found: dict[int, _Quoted] = {}
    for request in requests:
        firsts: dict[int, int] = {}
        places: dict[int, int] = {}
        for place, message in enumerate(_messages(mapping(request))):
            if mapping(message).get("role") in _OF_MODELS or mapping(message).get("type") == "function_call":
                numbers = {answer_of.get(text.strip(), -1) for text in _texts(message)}
                places |= dict.fromkeys(numbers - {-1, *found, *places}, place)
            firsts.setdefault(_hash(message), place)
        asked_at = min((place for message, place in firsts.items() if message in lasts), default=len(firsts))
        found |= {number: _Quoted(place, firsts, asked_at) for number, place in places.items()}
    return found


def _texts_of(answer: Answer) -> set[str]:
    whole = None if answer.is_streamed else read_value(answer.data.strip())
    events = [whole] if whole is not None else [read_value(each[1]) for each in _EVENT.finditer(answer.data)]
    texts = [text for event in events for text in _texts(event)]
    pieces = "".join(text for event in events for text in _texts(event, frozenset({"text", "content"})))
    return {text.strip() for text in (*texts, pieces)} - {""}


def _texts(value: JSON, names: frozenset[str] = _QUOTED) -> Iterator[str]:
    """The texts of these names in a value, in their order."""
    left = [value]
    while left:
        next_one = left.pop()
        inner = mapping(next_one)
        yield from (text for name, text in inner.items() if name in names and isinstance(text, str))
        left += list(inner.values() if inner else items(next_one))[::-1]


def _messages(body: Mapping[str, JSON]) -> Sequence[JSON]:
    return next((found for name in _LISTS if (found := items(body.get(name)))), ())


def _hash(message: JSON) -> int:
    return hash(json.dumps(message, sort_keys=True))
