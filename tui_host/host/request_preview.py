"""The request that would go out if the person sent something now. Nothing is sent."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tui_host.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui_host.capture.record import Draft
    from tui_host.capture.redact.redaction import Redactor
    from tui_host.chat.attachments import Attached
    from tui_host.chat.session import Session
    from tui_host.host.host import Host


COMING = "coming"
"""The exchange that it stands in: none that is kept."""


@dataclass(frozen=True, slots=True)
class _Collected:
    """What would be recorded."""

    redactor: Redactor
    drafts: list[Draft] = field(default_factory=list["Draft"])

    def append(self, draft: Draft) -> int:
        """Keep one."""
        self.drafts.append(self.redactor.draft(draft))
        return len(self.drafts)


async def coming(host: Host, session: Session, text: str, attached: Sequence[Attached] = ()) -> list[Draft]:
    """The request with which a turn would begin if this text were sent now, with these files, as it would be recorded.

    Links follow it, to what its tool protocol puts in and to the results that it tells, as they follow a request that is sent.

    The demo model's process is started for it, if that is who would be asked: its address is part of the request.

    Raises:
        TuiHostError: The host could not open, or such a request cannot be sent.
    """
    from anyio import to_thread

    from tui_host.capture.record import Place
    from tui_host.chat.active_profile import applied, local_time, profile_of
    from tui_host.chat.attachments import said
    from tui_host.chat.exchange_links import Links
    from tui_host.chat.history_repair import untold
    from tui_host.chat.next_request import asking, spoken
    from tui_host.llm.dialects.dialect_table import dialect

    await host.ready()
    client = host.client
    if host.pool is None or host.recorder is None:
        raise ModelError("the program is ending", remedy="start it again")
    provider = await host.provider(session.model)
    parts = said(text, attached) if text else ()
    speaks = dialect(provider.dialect)
    configured, environment = profile_of(session, host.settings), host.settings.environment
    profile = applied(configured, environment, now=local_time(), servers=host.pool.statuses())
    tools, protocol = host.pool.tools(), spoken(session, host.settings)
    asked = asking(session, tools, speaks.name_rule, protocol, profile=profile, unsent=parts)
    place = Place(session=session.id, turn=session.turn + 1, step=1)
    outgoing, draft = await client.preview(provider, asked.ask, place=place)
    collected = _Collected(host.recorder.redactor)
    collected.append(replace(draft, exchange=COMING))
    links = Links(recorder=collected, place=place, table=asked.table)
    found = await to_thread.run_sync(links.found, outgoing, speaks, asked.prepared, untold(asked.history))
    links.prepared(COMING, found)
    return collected.drafts
