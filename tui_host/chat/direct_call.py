"""Tool calls that the user makes without a model. They need no approval, and are recorded like every other call."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from tui_host.capture.json.narrowing import mapping
from tui_host.chat.conversation import CallItem
from tui_host.chat.policy import Decision
from tui_host.chat.turn_result import Outcome, decision_draft
from tui_host.errors import JSON, ServerError
from tui_host.llm.messages import ToolCall
from tui_host.servers.catalog import READ

if TYPE_CHECKING:
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
    """Call a tool, or read a resource, in a turn of its own, without a model; `arguments` are the canonical bytes to send.

    Raises:
        ServerError: The call failed. Says whether the tool may have run.
    """
    text = arguments.decode()
    value: JSON = json.loads(text)
    uri = mapping(value).get("uri") if tool.name == READ else None
    session.begin_turn(f"read {tool.server} {uri}" if uri else f"call {tool.server}.{tool.name} {text}")
    call = ToolCall(id=f"direct_{session.turn}", wire_id="", name=f"{tool.server}.{tool.name}", arguments=text)
    decision = Decision(verdict="approved", by="person", arguments=arguments, fingerprint=tool.fingerprint, words=WORDS)
    item = CallItem(
        turn=session.turn,
        step=1,
        call=call.id,
        server=tool.server,
        tool=tool.name,
        asked=text,
        sent=text,
        state="running",
        decision=decision.verdict,
        by=decision.by,
        words=decision.words,
    )
    number = session.conversation.add(item)
    outcome = Outcome(
        call=call, number=number, server=tool.server, tool=tool.name, asked=value, decision=decision, sent=True
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
