"""Builds the request that sending the typed message would make, without sending it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tui_host.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui_host.capture.record import Record
    from tui_host.chat.attachments import Attached
    from tui_host.chat.session import Session
    from tui_host.host.host import Host


PREVIEW = "coming"
"""Exchange id of the preview, which is never stored."""


@dataclass(frozen=True, slots=True)
class Without:
    """What a request is previewed without: one tool of a server, or all of a server."""

    server: str
    tool: str = ""


async def preview_request(
    host: Host, session: Session, text: str, attached: Sequence[Attached] = (), without: Without | None = None
) -> list[Record]:
    """Return the request that a turn with this text and these files would send, as records: the request, then its links.

    Starts the demo model's process if the session uses it: its address is part of the request. The session stays as it is.
    `without` names a tool or server that the request is made without, although it is switched on.

    Raises TuiHostError if the host failed to open, or the request cannot be sent.
    """
    from anyio import to_thread

    from tui_host.capture.record import Place
    from tui_host.chat.active_profile import apply_profile, local_time
    from tui_host.chat.exchange_links import Links
    from tui_host.chat.next_request import build_request, new_results, session_protocol
    from tui_host.chat.session import message_parts
    from tui_host.llm.dialects.table import dialect

    await host.ready()
    client = host.client
    if host.pool is None or host.recorder is None:
        raise ModelError("the program is ending", remedy="start it again")
    provider = await host.provider(session.model)
    parts = message_parts(text, attached) if text else ()
    speaks = dialect(provider.dialect)
    configured, environment = host.settings.profiles.get(session.profile), host.settings.environment
    profile = apply_profile(
        configured,
        environment,
        now=local_time(),
        servers=[status for status in host.pool.statuses() if without != Without(status.name)],
        instructions=[words for words in host.pool.instructions() if without != Without(words[0])],
    )
    tools = [
        tool for tool in host.pool.tools() if without not in {Without(tool.server), Without(tool.server, tool.name)}
    ]
    protocol = session_protocol(session, host.settings)
    asked = build_request(session, tools, speaks, protocol, profile=profile, unsent=parts)
    place = Place(session=session.id, turn=session.turn + 1, step=1)
    outgoing, draft = await client.preview(provider, asked.ask, place=place)
    redactor = host.recorder.redactor
    links = Links(place=place, request=asked, redactor=redactor)
    spans = await to_thread.run_sync(links.find_spans, outgoing, speaks, new_results(asked.history))
    records = [replace(draft, exchange=PREVIEW), *links.of_request(PREVIEW, spans)]
    return [redactor.record(record) for record in records]
