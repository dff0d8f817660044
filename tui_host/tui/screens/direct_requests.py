"""What a person asks servers for without a model: tools to call, resources to read, prompts to fill in."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from tui_host.errors import JSON, TuiHostError

if TYPE_CHECKING:
    from tui_host.answers.masks import Mask
    from tui_host.answers.sheet import SheetLine
    from tui_host.chat.session import Session
    from tui_host.host.host import Host
    from tui_host.servers.catalog import CallProgress, ContentBlock
    from tui_host.tui.screens.server_sheet import LastFrames
    from tui_host.tui.widgets.prompt.server_offers import Form

KEPT = 20
"""Number of requests to keep for a server."""


@dataclass(slots=True, eq=False)
class DirectRequest:
    """A request, and what came of it so far."""

    number: int
    form: Form  # what was asked for, with the values that were sent
    frames: LastFrames
    state: str = "waiting for the server"
    is_running: bool = True
    failed: str = ""
    blocks: Sequence[ContentBlock] = ()
    raw: JSON = None

    def line(self, mask: Mask, *, is_newest: bool) -> SheetLine:
        """Return the request as a line, with its answer and frames below."""
        from tui_host.answers.sheet import SheetLine
        from tui_host.capture.json.narrowing import short
        from tui_host.servers.catalog import Resource
        from tui_host.tui.screens.server_sheet import frames_line

        lines: list[SheetLine] = []
        if self.failed:
            lines.append(SheetLine(key="failed", label=mask(self.failed), style="failed", is_wrapped=True))
        for number, block in enumerate(self.blocks):
            label, text = f"{block.kind} {block.media_type} {block.uri}".strip(), partial(mask, block.text)
            lines.append(SheetLine(key=f"block {number}", label=label, text=text, opened=True, style="key"))
        if self.raw is not None:
            received = partial(json.dumps, self.raw, ensure_ascii=False)
            lines.append(SheetLine(key="raw", label="result as received", text=received))
        name = self.form.item.uri if isinstance(self.form.item, Resource) else self.form.item.name
        given = short(self.form.given, 120) if self.form.given else ""
        return SheetLine(
            key=f"{self.number}",
            label=mask(f"{name}: {self.state}  {given}"),
            children=(*lines, frames_line(f"{len(self.frames.frames):,}", self.frames)),
            opened=is_newest,
            style="key",
        )


class DirectRequests:
    """The requests of the time that the program runs, newest first, by server."""

    def __init__(self) -> None:
        self.session: Session | None = None  # the session that records them; None before the first one
        self._made: dict[str, list[DirectRequest]] = {}
        self._count = 0

    def of(self, server: str) -> Sequence[DirectRequest]:
        return self._made.get(server, [])

    def begin(self, form: Form, frames: LastFrames) -> DirectRequest:
        """Return a new request, which waits to be made."""
        self._count += 1
        request = DirectRequest(self._count, form, frames)
        self._made[form.server] = [request, *self.of(form.server)][:KEPT]
        return request

    async def make(self, host: Host, request: DirectRequest) -> None:
        """Make a request, and keep what came of it."""
        session = self.session
        if session is None:
            session = self.session = host.sessions.new()
            session.is_direct = True
        began, state = time.monotonic(), "stopped; the server may have acted"
        session.wait_for("tools")  # so that a question of the server is known to belong here
        try:
            request.blocks, request.raw, request.failed = await self._answer(host, session, request)
            state = f"answered after {(time.monotonic() - began) * 1000:,.0f} ms"
        except TuiHostError as error:
            request.failed, state = str(error), "failed"
        finally:
            session.wait_for("")
            request.state, request.is_running = state, False

    async def _answer(
        self, host: Host, session: Session, request: DirectRequest
    ) -> tuple[Sequence[ContentBlock], JSON, str]:
        """Return the blocks of the answer, the answer as received, and what is wrong with it."""
        from tui_host.capture.json.narrowing import short
        from tui_host.chat.call_arguments import canonical
        from tui_host.chat.calls import call_directly
        from tui_host.servers.catalog import READ, OfferedPrompt, Resource, expand

        form, pool, recorder = request.form, host.pool, host.recorder
        server, item = form.server, form.item
        if pool is None or recorder is None:
            raise TuiHostError("the program is ending")
        sent: Mapping[str, JSON] = form.given
        texts = {name: str(value) for name, value in sent.items()}
        if isinstance(item, OfferedPrompt):
            session.begin_turn(f"prompt {server} {item.name} {short(texts)}")
            place = session.place(step=1, call=f"direct_{session.turn}")
            filled = await pool.get_prompt(server, item.name, texts, place=place)
            return [message.content for message in filled.messages], filled.raw, filled.warning
        tool = item
        if isinstance(item, Resource):
            sent = {"uri": expand(item.uri, texts) if item.is_template else item.uri}
            tool = next((tool for tool in pool.tools() if (tool.server, tool.name) == (server, READ)), None)
        if tool is None or isinstance(tool, Resource):
            raise TuiHostError("the server is not connected", server, "connect it with r")

        def progressed(progress: CallProgress) -> None:
            request.state = f"running: {progress.progress:g} {progress.message}".strip()

        output = await call_directly(pool, recorder, session, tool, canonical(sent), on_progress=progressed)
        failed = "the server says that the tool failed (isError)" if output.is_error else output.warning
        return output.content, output.raw, failed
