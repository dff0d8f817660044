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
from tui_host.chat.turn_result import Outcome
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
    """Call a tool, or read a resource, in a turn of its own, without a model; `arguments` are the canonical bytes to send."""
    text, server, name = arguments.decode(), tool.server, tool.name
    value: JSON = json.loads(text)
    uri = mapping(value).get("uri") if name == READ else None
    session.begin_turn(f"read {server} {uri}" if uri else f"call {server}.{name} {text}")
    call = ToolCall(id=f"direct_{session.turn}", wire_id="", name=f"{server}.{name}", arguments=text)
    decision = Decision(verdict="approved", by="person", arguments=arguments, fingerprint=tool.fingerprint, words=WORDS)
    item = CallItem(turn=session.turn, step=1, call=call.id, server=server, tool=name, asked=text, sent=text)
    item = replace(item, state="running", decision=decision.verdict, by=decision.by, words=WORDS)
    number = session.conversation.add(item)
    outcome = Outcome(call=call, item=item, server=server, tool=name, asked=value, decision=decision, sent=True)
    place = session.place(step=1, call=call.id)
    recorder.append(outcome.record(place))
    began = time.perf_counter()
    # What stands if this is cancelled while the server works.
    item = replace(item, state="failed", result="stopped; the tool may have run")
    try:
        output = await pool.call(
            server, name, arguments, place=place, fingerprint=tool.fingerprint, on_progress=on_progress
        )
        state, result = "failed" if output.is_error else "done", "\n".join(block.text for block in output.content)
        item = replace(item, state=state, result=result)
    except ServerError as error:
        item = replace(item, result=str(error))
        raise
    finally:
        session.conversation.put(number, replace(item, milliseconds=(time.perf_counter() - began) * 1000))
        session.save()
    return output
