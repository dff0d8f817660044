"""Five hundred tools in a request: what building it takes, and what the next step's takes when nothing has changed."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path

from tests.bench.answering_peer import DIALECTS
from tests.bench.measure import Table, at_most
from tui_host.chat.active_profile import AppliedProfile
from tui_host.chat.next_request import build_request
from tui_host.chat.policy import Policy
from tui_host.chat.session import Session
from tui_host.chat.tool_hub import HUB
from tui_host.errors import JSON
from tui_host.llm.dialects.table import dialect
from tui_host.llm.messages import Message, Text
from tui_host.llm.model_request import Outgoing, model_request
from tui_host.llm.protocols.table import protocol
from tui_host.servers.catalog import Tool
from tui_host.settings.protocol_prompts import template_of
from tui_host.settings.schema import ModelRef, Provider, Template

TOOLS = 500
SERVERS = 10
PROPERTIES = 6
NOWHERE = Path("nowhere")
"""A folder without a person's own templates."""


def tool(number: int) -> Tool:
    """A tool of usual size: six arguments, each with a sentence."""
    properties: dict[str, JSON] = {
        f"argument_{place}": {
            "type": "string",
            "description": f"What argument {place} of tool {number} is for, in a sentence of usual length.",
        }
        for place in range(PROPERTIES)
    }
    return Tool(
        server=f"server{number % SERVERS}",
        name=f"tool_{number}",
        description=f"Does what tool {number} does, and says so in some words. " * 2,
        schema={"type": "object", "properties": properties, "required": ["argument_0"]},
        fingerprint=f"{number:064x}",
    )


def session_of(name: str, spoken: str) -> Session:
    session = Session(
        id="20261121-134501-x7k2q",
        source="chat",
        created_ns=0,
        model=ModelRef(provider="mine", model=name),
        protocol=spoken,
        policy=Policy([]),
    )
    session.say(Message(role="user", parts=(Text(text="what is 6 × 5?"),), turn=1))
    return session


def building(name: str, spoken: str) -> Callable[[], Outgoing]:
    """Builds the request of a session's next step, from the catalogs as the pool gives them."""
    tools = tuple(tool(number) for number in range(TOOLS))
    provider = Provider(
        name="mine", dialect=name, base_url=Template(text="http://127.0.0.1:9/v1", literal=True), api_key=None
    )
    own = "native" if spoken == HUB else spoken
    session, speaks, wire = session_of(name, spoken), protocol(own, template_of(own, NOWHERE)), dialect(name)

    def build() -> Outgoing:
        asked = build_request(session, tuple(iter(tools)), wire, speaks, profile=AppliedProfile())
        return model_request(provider, asked.ask, {})

    return build


def seconds(build: Callable[[], Outgoing]) -> tuple[float, int]:
    began = time.process_time()
    size = len(build().body)
    return time.process_time() - began, size


def run(table: Table) -> None:
    rounds = 5 if table.is_quick else 25
    table.heading("offering", f"{TOOLS} tools in a request: the first, and the next when nothing has changed; CPU")
    for name, spoken in (*((name, "native") for name in DIALECTS), ("openai", "cline"), ("openai", HUB)):
        first, again = list[float](), list[float]()
        size = 0
        for _ in range(rounds):
            build = building(name, spoken)
            took, size = seconds(build)
            first.append(took)
            again.append(statistics.median(seconds(build)[0] for _ in range(3)))
        table.figure(f"{name} · {spoken}: built", statistics.median(first), "s", at_most(0.020), note=f"{size:,} bytes")
        table.ratio("  the next, against the first", again, first, at_most(0.25) if spoken == "native" else None)
