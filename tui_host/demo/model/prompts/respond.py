"""Answers a request: recognises the prompt's tool protocol, reads the conversation, and writes the answer in its form."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace

from tui_host.demo.model.brain.rules import answer
from tui_host.demo.model.conversation import DemoConversation, DemoMessage
from tui_host.demo.model.plan import Plan
from tui_host.demo.model.prompts.grammars import CLINE, GRAMMARS, REACT, Grammar
from tui_host.demo.model.prompts.hub import through_hub

_STOPPED = re.compile(r"[^\n]{0,80}\b(?:stopped the turn|the turn was stopped)\b", re.IGNORECASE)
_CORRECTED = re.compile(r"\bnothing (?:\w+ ){0,3}was run\b|没有运行", re.IGNORECASE)
"""A host's words about a call that it could not run."""
_ENVIRONMENT = re.compile(r"<environment_details>.*?(?:</environment_details>|\Z)", re.DOTALL)
_ELEMENT = re.compile(r"<(task|feedback|answer)>\s*(.*?)\s*</\1>", re.DOTALL)


def respond(conversation: DemoConversation) -> Plan:
    """Return the demo model's next answer: with the API's own tools if offered, otherwise in the prompt's tool protocol."""
    prompt = "\n\n".join(message.text for message in conversation.messages if message.role == "system")
    grammar = max(GRAMMARS, key=lambda known: len(known.mark.findall(prompt)))
    if conversation.tools or not grammar.mark.search(prompt):
        return through_hub(conversation, answer)
    # The conversation as if it had been made with the API's own tools.
    messages: list[DemoMessage] = []
    ids: list[str] = []
    for index, message in enumerate(conversation.messages):
        if message.role == "assistant":
            calls = [replace(call, id=f"{index}.{place}") for place, call in enumerate(grammar.read(message.text))]
            ids = [call.id for call in calls]
            messages.append(replace(message, calls=tuple(calls)))
        elif message.role == "user":
            messages += _from_user(message, grammar, ids)
            ids = []
        else:
            messages.append(message)
    # Where the protocol has a place for thinking in the text, the model thinks there.
    thinks_in_text = conversation.thinking == "asked" and ("<thinking>" in prompt or "Thought:" in prompt)
    within = DemoConversation(
        messages=tuple(messages),
        tools=grammar.tools(prompt),
        parallel=grammar.several,
        thinking="always" if thinks_in_text else conversation.thinking,
    )
    plan = through_hub(within, answer)
    if plan.trouble or plan.status or plan.is_cut or not (plan.text or plan.calls):
        return plan
    thought = plan.thinking if conversation.thinking == "asked" else ""
    return replace(plan, text=_written(plan, grammar, thought), calls=(), thinking="" if thought else plan.thinking)


def _from_user(message: DemoMessage, grammar: Grammar, ids: list[str]) -> Iterator[DemoMessage]:
    results = grammar.told(message.text) if ids else []
    question = message.text if not results else ""
    if ids and not results and _CORRECTED.search(message.text):
        yield DemoMessage(role="tool", call_id=ids[0], text=message.text, is_error=True)
        return
    for call_id, text in zip(ids, results, strict=False):
        # A host may join two user messages: the next question then follows its note about a stopped turn.
        result, _, question = text.partition("\n\n") if _STOPPED.match(text) else (text, "", question)
        said = _ELEMENT.search(result)
        if said is not None:  # Cline puts a person's reason and answer into tags
            result = said[2] if said[1] == "answer" else f"{result[: said.start()].strip()} Reason: {said[2]}"
        yield DemoMessage(role="tool", call_id=call_id, text=result, images=message.images)
    plain = _ENVIRONMENT.sub("", question).strip()
    inner = _ELEMENT.search(plain)
    if plain or (message.images and not results):
        yield DemoMessage(role="user", text=inner[2] if inner else plain, images=message.images)


def _written(plan: Plan, grammar: Grammar, thought: str) -> str:
    """Write an answer in the form of the protocol: its calls after the text and the thinking, or what ends the turn."""
    written: list[str] = []
    for call in plan.calls:
        server, _, tool = call.name.partition("__")
        names = {"name": call.name, "quoted": json.dumps(call.name), "server": server, "tool": tool}
        written.append(grammar.call % {**names, "arguments": call.arguments})
    text, calls = plan.text, "\n".join(written)
    if grammar is REACT:
        said = thought or "I have the answer."
        if calls:
            said = thought or text or "I need a tool for this."
        return f"Thought: {' '.join(said.split())}\n{calls or f'Final Answer: {text}'}"
    if calls and not grammar.several and grammar is not CLINE:
        return calls  # the JSON protocols demand the object and nothing else
    if grammar is CLINE and not calls:
        text = f"<attempt_completion>\n<result>\n{text}\n</result>\n</attempt_completion>"
    tagged = f"<thinking>\n{thought}\n</thinking>" if thought else ""
    return "\n\n".join(filter(None, (tagged, text, calls)))
