"""Hosts that speak the tool protocols in plain text: our own prompts, our own reading of answers, our own words for results."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.demo.played import BUNDLED
from tests.llm.protocols.answers import PLAIN, read, speaking, text_of
from tui_host.demo.model.json_values import is_object
from tui_host.demo.model.plan import Plan
from tui_host.demo.model.protocols.respond import respond
from tui_host.demo.model.request_content import AssistantSaid, Conversation, Message, SystemSaid, Thinking, UserSaid
from tui_host.demo.servers.bundled import ToolFailed
from tui_host.errors import JSON
from tui_host.llm import messages as neutral

Asked = list[tuple[str, str]]

SCHEMAS: dict[str, JSON] = {
    name: {"type": "object", "properties": dict(tool.properties), "required": list(tool.properties)}
    for name, tool in BUNDLED.items()
}
OFFERED = tuple(
    neutral.ToolSpec(
        name=name,
        description=tool.description,
        schema=SCHEMAS[name],
        server=name.partition("__")[0],
        tool=name.partition("__")[2],
    )
    for name, tool in BUNDLED.items()
)
ENVIRONMENT = "<environment_details>\n# Current Time\n12:00 (1 + 1 minutes)\n</environment_details>"
"""What Cline adds to a message of the user."""


def run(name: str, arguments: str) -> str:
    """What the bundled server says."""
    values: object = json.loads(arguments)
    assert is_object(values)
    try:
        return BUNDLED[name].call(values).text
    except ToolFailed as failure:
        return f"Error: {failure}"


def _user(text: str) -> neutral.Message:
    return neutral.Message(role="user", parts=(neutral.Text(text=text),))


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """One protocol, as a host speaks it.

    Attributes:
        given_prompt: The system prompt; empty for the protocol's own.
        tools: What the prompt offers.
    """

    name: str
    given_prompt: str = ""
    tools: tuple[neutral.ToolSpec, ...] = OFFERED

    @property
    def prompt(self) -> str:
        return self.given_prompt or text_of(speaking(self.name).prepare([_user("?")], self.tools).messages[0])

    def around(self, question: str) -> str:
        """The person's question as it is sent."""
        return text_of(speaking(self.name).prepare([_user(question)], self.tools).messages[1])

    def calls(self, text: str) -> Asked:
        """Names and arguments in an answer."""
        return read(self.name, text, tools=self.tools).calls

    def final(self, text: str) -> str:
        """The answer in the last text."""
        return read(self.name, text, tools=self.tools).text

    def results(self, told: Asked) -> str:
        """The user message for names of tools and the texts of their results."""
        calls = [
            neutral.ToolCall(id=str(number), wire_id="", name=name, arguments="{}")
            for number, (name, _) in enumerate(told)
        ]
        results = [
            neutral.ToolResult(call=call, content=(neutral.Text(text=text),))
            for call, (_, text) in zip(calls, told, strict=True)
        ]
        asked = neutral.Message(role="assistant", parts=tuple(calls))
        messages = [_user("?"), asked, neutral.Message(role="tool", parts=tuple(results))]
        return text_of(speaking(self.name).prepare(messages, self.tools).messages[-1])


CLINE, CHERRY, JSON_OBJECT, FUNCTION, REACT, HERMES = HOSTS = tuple(Host(name=name) for name in PLAIN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """A turn: what was asked for in each step, and every plan."""

    plans: tuple[Plan, ...]
    asked: tuple[Asked, ...]
    final: str


def speak(
    host: Host,
    question: str,
    *,
    told: Callable[[str, str], str] = run,
    before: Sequence[Message] = (),
    thinking: Thinking = "asked",
) -> Spoken:
    """Plays a turn to its end."""
    messages: list[Message] = [SystemSaid(text=host.prompt), *before, UserSaid(text=host.around(question))]
    plans: list[Plan] = []
    asked: list[Asked] = []
    for _ in range(30):
        plan = respond(Conversation(messages=tuple(messages), thinking=thinking))
        assert not plan.calls
        plans.append(plan)
        calls = host.calls(plan.text)
        if not calls:
            return Spoken(plans=tuple(plans), asked=tuple(asked), final=host.final(plan.text))
        asked.append(calls)
        messages.append(AssistantSaid(text=plan.text))
        messages.append(UserSaid(text=host.results([(name, told(name, given)) for name, given in calls])))
    raise AssertionError("the demo model asks without end")
