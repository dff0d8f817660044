"""Thought, Action, Action Input, Observation, Final Answer: lines with labels, one action an answer."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from tui_host.demo.model.plan import AskedCall
from tui_host.demo.model.protocols.listed_tools import offered_in
from tui_host.demo.model.protocols.protocol_forms import Attempt, Results, is_arguments, spoken
from tui_host.demo.model.request_content import Call, Tool

_ACTION = re.compile(r"^[ \t*]*Action[*]*[ \t]*[:：][ \t]*(?P<name>[^\n]+)$", re.MULTILINE)
_INPUT = re.compile(r"^[ \t*]*Action Input[*]*[ \t]*[:：](?P<text>.*)", re.MULTILINE | re.DOTALL)
_RESULT = re.compile(r"\s*Observation[ \t]*[:：][ \t]*(.*)", re.DOTALL)
_LABELS = re.compile(r"^[ \t]*(?:Question|Task|问题)[ \t]*[:：][ \t]*", re.IGNORECASE)
_NONE = ("none", "n/a")


class React:
    """See the module."""

    several = False
    opening = "Action:"

    def tools(self, prompt: str) -> tuple[Tool, ...]:
        """The tools, however they are listed."""
        return offered_in(prompt)

    def question(self, text: str) -> str:
        """The text without its label."""
        return _LABELS.sub("", text)

    def attempts(self, text: str) -> list[Attempt]:
        """The first action."""
        said = spoken(text)
        action = _ACTION.search(said)
        if action is None or action["name"].strip().casefold() in _NONE:
            return []
        given = _INPUT.search(said, action.end())
        arguments = given["text"].strip() if given else ""
        try:
            _, end = json.JSONDecoder().raw_decode(arguments)
            arguments = arguments[:end]
        except (ValueError, RecursionError):
            pass  # it stays what it is: no JSON
        name = action["name"].strip(" \t`*")
        return [Attempt(name=name, arguments=arguments, is_whole=is_arguments(arguments))]

    def results(self, text: str, calls: Sequence[Call]) -> Results | None:
        """What follows `Observation:`."""
        found = _RESULT.match(text)
        return Results(texts=(found[1].strip(),)) if found and calls else None

    def call(self, call: AskedCall) -> str:
        """Its two lines."""
        return f"Action: {call.name}\nAction Input: {call.arguments}"

    def unclosed(self, call: AskedCall) -> str:
        """The lines without their end."""
        return self.call(call)[:-1]

    def invented(self, call: AskedCall) -> str:
        """An observation that nobody made."""
        del call
        return "Observation: 42\nThought: I have the answer.\nFinal Answer: The result is 42."

    def asking(self, calls: str, text: str, thought: str) -> str:
        """A thought, then the action."""
        words = " ".join((thought or text or "I need a tool for this.").split())
        return f"Thought: {words}\n{calls}"

    def ending(self, text: str, thought: str) -> str:
        """A thought, then the answer."""
        words = " ".join((thought or "I have the answer.").split())
        return f"Thought: {words}\nFinal Answer: {text}"
