"""Answers a request: recognises the prompt's tool protocol, reads the conversation, and writes the answer in its form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from tui_host.demo.model.brain.rules import answer
from tui_host.demo.model.plan import AskedCall, Plan
from tui_host.demo.model.protocols.hub_forms import through_hub
from tui_host.demo.model.protocols.prompt_grammars import (
    Cherry,
    Cline,
    Grammar,
    Hermes,
    Objects,
    React,
    WrittenCall,
    joined,
    spoken,
)
from tui_host.demo.model.request_content import (
    AssistantSaid,
    Call,
    Conversation,
    Message,
    SystemSaid,
    ToolSaid,
    UserSaid,
)

_MARKS: tuple[tuple[re.Pattern[str], Grammar], ...] = (
    (re.compile(r"<use_mcp_tool>"), Cline()),
    (re.compile(r"<tool_use>"), Cherry()),
    (re.compile(r"<tool_call>"), Hermes()),
    (re.compile(r"^[ \t>`*]*Action Input[`*]*[ \t]*[:：]", re.MULTILINE), React()),
    (re.compile(r"\{\s*\"function\"\s*:\s*(?!\{)"), Objects("function", "parameters")),
    (re.compile(r"\{\s*\"tool\"\s*:"), Objects("tool", "arguments")),
)
_CORRECTED = re.compile(
    r"\b(?:nothing (?:\w+ ){0,3}was run|was not (?:run|executed)|not executed|unknown (?:tool|server)|no (?:such )?(?:tool|server)|invalid"
    r"|malformed|missing|retry|try again|did not use)\b|没有运行|未运行|未执行|没有执行",
    re.IGNORECASE,
)
"""A host's words about a call that it could not run."""


_STOPPED = re.compile(r"[^\n]{0,80}\b(?:stopped the turn|the turn was stopped)\b", re.IGNORECASE)


def respond(conversation: Conversation) -> Plan:
    """Return the demo model's next answer: with the API's own tools if offered, otherwise in the prompt's tool protocol."""
    grammar = None if conversation.tools else grammar_of(conversation)
    if grammar is None:
        return _natively(through_hub(conversation, answer))
    prompt = _prompt(conversation)
    within = replace(
        conversation,
        messages=tuple(_translated(conversation, grammar)),
        tools=grammar.tools(prompt),
        parallel=grammar.several,
        # If the tool protocol has a place for thinking in the text, the model thinks there.
        thinking="always" if _thinks_in_text(conversation, prompt) else conversation.thinking,
    )
    return _written(through_hub(within, answer), grammar, in_text=conversation.thinking == "asked")


def grammar_of(conversation: Conversation) -> Grammar | None:
    """Return the tool protocol that best matches the system prompt; None if none does."""
    prompt = _prompt(conversation)
    counts = [(len(mark.findall(prompt)), grammar) for mark, grammar in _MARKS]
    most = max(count for count, _ in counts)
    return next(grammar for count, grammar in counts if count == most) if most else None


def _prompt(conversation: Conversation) -> str:
    return "\n\n".join(message.text for message in conversation.messages if isinstance(message, SystemSaid))


def _thinks_in_text(conversation: Conversation, prompt: str) -> bool:
    has_place = "<thinking>" in prompt or "Thought:" in prompt
    return has_place and conversation.thinking == "asked"


def _translated(conversation: Conversation, grammar: Grammar) -> Iterator[Message]:
    """Yield the conversation as if it had been made with the API's own tools."""
    asked: tuple[Call, ...] = ()
    written: list[WrittenCall] = []
    for index, message in enumerate(conversation.messages):
        if isinstance(message, AssistantSaid):
            written = grammar.written_calls(spoken(message.text))
            asked = tuple(
                Call(id=f"{index}.{place}", name=call.name, arguments=call.arguments)
                for place, call in enumerate(written)
            )
            yield AssistantSaid(text=message.text, calls=asked)
        elif isinstance(message, UserSaid):
            yield from _from_user(message, grammar, asked, written)
            asked = ()
        else:
            yield message


def _from_user(
    message: UserSaid, grammar: Grammar, asked: tuple[Call, ...], written: list[WrittenCall]
) -> Iterator[Message]:
    results = grammar.results(message.text, asked) if asked else None
    if results is not None:
        rest = results.rest
        for call, text in zip(asked, results.texts, strict=False):
            # A host may join two user messages: the next question then follows its note about a stopped turn.
            result, _, more = text.partition("\n\n") if _STOPPED.match(text) else (text, "", "")
            rest = joined(more, rest)
            yield ToolSaid(call_id=call.id, text=result, images=message.images)
        if rest:
            yield UserSaid(text=grammar.question(rest))
        return
    is_broken = any(not call.is_whole for call in written)
    if asked and (is_broken or _CORRECTED.search(message.text)):
        yield ToolSaid(call_id=asked[0].id, text=message.text, is_error=True)
        return
    yield UserSaid(text=grammar.question(message.text), images=message.images)


def _natively(plan: Plan) -> Plan:
    """Return the plan for an API with its own calls, where a wrong form can be followed only in part."""
    if plan.quirk in {"prose", "fenced"}:
        shown = "\n".join(f"{call.name} {call.arguments}" for call in plan.calls)
        text = joined(
            plan.text, f"To use it I would ask for it, as in\n\n```\n{shown}\n```\n\nbut this is only an example."
        )
        return replace(plan, text=text, calls=(), quirk="")
    if plan.quirk == "unclosed":
        calls = tuple(AskedCall(name=call.name, arguments=call.arguments[:-1]) for call in plan.calls)
        return replace(plan, calls=calls, quirk="")
    if plan.quirk == "double":
        return replace(plan, calls=plan.calls * 2, quirk="")
    return replace(plan, quirk="")


def _written(plan: Plan, grammar: Grammar, *, in_text: bool) -> Plan:
    """Return the plan with its calls written into the text."""
    thought = plan.thinking if in_text else ""
    bare = replace(plan, calls=(), quirk="", thinking="" if in_text else plan.thinking)
    if plan.trouble or plan.is_cut or not (plan.text or plan.calls):
        return bare
    if not plan.calls:
        return replace(bare, text=grammar.ending(plan.text, thought))
    return replace(bare, text=_asking(plan, grammar, thought), heeds_stops=plan.quirk != "invented")


def _asking(plan: Plan, grammar: Grammar, thought: str) -> str:
    calls = "\n".join(grammar.call(call) for call in plan.calls)
    first = plan.calls[0]
    match plan.quirk:
        case "prose":
            mention = f"A call begins with `{grammar.opening}`"
            if grammar.opening.startswith("<"):
                mention += f", and {grammar.opening} in the middle of a line is a mention as well"
            return joined(plan.text, f"{mention}: it is prose, and nothing is asked for.")
        case "fenced":
            return joined(
                plan.text, f"An example among other lines:\n\n```\nThis is how it is done:\n{calls}\nThat is all.\n```"
            )
        case "wrapped":
            language = "xml" if grammar.opening.startswith("<") else "json" if first.arguments in calls else ""
            return f"```{language}\n{calls}\n```"
        case "unclosed":
            return grammar.asking(grammar.unclosed(first), plan.text, thought)
        case "invented":
            result = grammar.invention.replace("{server}", first.name.partition("__")[0]).replace("{name}", first.name)
            return grammar.asking(f"{calls}\n\n{result}\n\nThe result is 42.", plan.text, thought)
        case "double":
            return grammar.asking(f"{calls}\n{calls}", plan.text, thought)
        case _:
            return grammar.asking(calls, plan.text, thought)
