"""Tool calls that the user makes without a model. They need no approval, and are recorded like every other call."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from tui_host.capture.json.narrowing import mapping
from tui_host.chat.policy import Decision
from tui_host.chat.result_words import error_of
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
    outcome = Outcome(call=call, server=server, tool=name, written=text, asked=value, decision=decision, words=WORDS)
    outcome.sent, outcome.state = True, "running"
    place = session.place(step=1, call=call.id)
    number = session.conversation.add(outcome.item(place))
    recorder.append(outcome.record(place))
    began = time.perf_counter()
    outcome.state, result = "failed", "stopped; the tool may have run"
    try:
        output = await pool.call(
            server, name, arguments, place=place, fingerprint=tool.fingerprint, on_progress=on_progress
        )
        outcome.state = "failed" if output.is_error else "done"
        result = "\n".join(block.text for block in output.content)
    except ServerError as error:
        result = str(error)
        raise
    finally:
        outcome.milliseconds = (time.perf_counter() - began) * 1000
        outcome.result = error_of(call, result)
        session.conversation.put(number, outcome.item(place))
        session.save()
    return output
