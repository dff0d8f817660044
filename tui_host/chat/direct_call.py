"""Tool calls that the user makes without a model. They need no approval, and are recorded like every other call."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from tui_host.capture.record import Draft
from tui_host.chat.conversation import CallItem
from tui_host.chat.policy import Decision
from tui_host.chat.turn_result import Outcome
from tui_host.errors import JSON, ServerError
from tui_host.llm.messages import ToolCall
from tui_host.servers.catalog import READ

if TYPE_CHECKING:
    from tui_host.capture.record import Place
    from tui_host.capture.recorder import Recorder
    from tui_host.chat.session import Session
    from tui_host.servers.catalog import Progress, Tool, ToolOutput
    from tui_host.servers.pool import Pool

WORDS = "called by you"


async def call_directly(
    pool: Pool,
    recorder: Recorder,
    session: Session,
    tool: Tool,
    arguments: bytes,
    *,
    on_progress: Callable[[Progress], None] = lambda _: None,
) -> ToolOutput:
    """Call a tool, or read a resource, in a turn of its own, without a model.

    Args:
        pool: The servers.
        recorder: Records the decision.
        session: Receives the turn.
        tool: The tool's current definition.
        arguments: The canonical bytes to send.
        on_progress: Called for each progress notification.

    Raises:
        ServerError: The call failed. Says whether the tool may have run.
    """
    text = arguments.decode()
    value: JSON = json.loads(text)
    uri = value.get("uri") if tool.name == READ and isinstance(value, Mapping) else None
    session.begin_turn(f"read {tool.server} {uri}" if uri else f"call {tool.server}.{tool.name} {text}")
    call = ToolCall(id=f"direct_{session.turn}", wire_id="", name=f"{tool.server}.{tool.name}", arguments=text)
    item = CallItem(
        turn=session.turn,
        step=1,
        call=call.id,
        server=tool.server,
        tool=tool.name,
        asked=text,
        sent=text,
        state="running",
        decision="approved",
        by="person",
        words=WORDS,
    )
    number = session.conversation.add(item)
    decision = Decision(verdict="approved", by="person", arguments=arguments, fingerprint=tool.fingerprint, words=WORDS)
    outcome = Outcome(
        call=call,
        number=number,
        server=tool.server,
        tool=tool.name,
        asked=value,
        decision=decision,
        sent=True,
    )
    place = session.place(step=1, call=call.id)
    recorder.append(decision_draft(outcome, place))
    began = time.perf_counter()
    is_error, result = True, "stopped; the tool may have run"
    try:
        output = await pool.call(
            tool.server, tool.name, arguments, place=place, fingerprint=tool.fingerprint, on_progress=on_progress
        )
        is_error, result = output.is_error, "\n".join(block.text for block in output.content)
    except ServerError as error:
        result = str(error)
        raise
    finally:
        milliseconds = (time.perf_counter() - began) * 1000
        state = "failed" if is_error else "done"
        session.conversation.put(number, replace(item, state=state, result=result, milliseconds=milliseconds))
        session.save()
    return output


def decision_draft(outcome: Outcome, place: Place) -> Draft:
    """Return the record of a decision, with the fingerprint of the tool's definition."""
    value = outcome.to_json()
    if outcome.decision is not None:
        value["words"] = outcome.decision.words
        value["definition"] = outcome.decision.fingerprint
    data = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")
    return Draft(wire="host", kind="decision", place=place, data=data)
