"""The request that would go out if the person sent something now. Nothing is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_host.errors import ModelError

if TYPE_CHECKING:
    from tui_host.capture.record import Draft
    from tui_host.chat.session import Session
    from tui_host.host.host import Host


async def coming(host: Host, session: Session, text: str) -> Draft:
    """The request with which a turn would begin if this text were sent now, as it would be recorded.

    The demo model's process is started for it, if that is who would be asked: its address is part of the request.

    Raises:
        TuiHostError: The host could not open, or such a request cannot be sent.
    """
    from tui_host.capture.record import Place
    from tui_host.chat.asking import asking, spoken
    from tui_host.llm.dialects import dialect

    await host.ready()
    client = host.client
    if host.pool is None or host.recorder is None:
        raise ModelError("the program is ending", remedy="start it again")
    provider = await host.provider(session.model)
    rule = dialect(provider.dialect).name_rule
    asked = asking(session, host.pool.tools(), rule, spoken(session, host.settings), unsent=text)
    place = Place(session=session.id, turn=session.turn + 1, step=1)
    return host.recorder.redactor.draft(await client.coming(provider, asked.ask, place=place))
