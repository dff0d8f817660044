"""What a person asks servers for without a model: tools to call, resources to read, prompts to fill in."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from tui_host.answers.masks import masked
from tui_host.answers.sheet import SheetLine
from tui_host.capture.json.narrowing import short
from tui_host.capture.visible import decode
from tui_host.chat.call_arguments import canonical
from tui_host.chat.calls import call_directly
from tui_host.errors import JSON, TuiHostError
from tui_host.servers.catalog import OfferedPrompt, Resource, Tool, expand
from tui_host.tui.screens.server_sheet import name_of

if TYPE_CHECKING:
    from tui_host.answers.masks import Mask
    from tui_host.capture.recorder import Recorder
    from tui_host.chat.session import Session
    from tui_host.servers.catalog import CallProgress, ContentBlock
    from tui_host.servers.pool import Pool
    from tui_host.tui.widgets.prompt.server_offers import Form


@dataclass(slots=True, eq=False)
class DirectRequest:
    """A request, and what came of it so far."""

    session: Session  # records it
    form: Form  # what was asked for, with the values that are sent
    tool: Tool | OfferedPrompt  # what is called: for a resource the tool that reads
    connection: str
    recorder: Recorder
    first: int  # number of the last record before it, which names it
    last: int = 0  # number of its last record; 0 while it runs
    state: str = "waiting for the server"
    failed: str = ""
    blocks: Sequence[ContentBlock] = ()
    raw: JSON = None

    async def make(self, pool: Pool) -> None:
        """Send it, and keep what comes of it."""
        session, server, item, sent = self.session, self.form.server, self.form.item, self.form.given
        texts = {name: str(value) for name, value in sent.items()}

        def progressed(progress: CallProgress) -> None:
            self.state = f"running: {progress.progress:g} {progress.message}".strip()

        began, state = time.monotonic(), "stopped; the server may have acted"
        session.wait_for("tools")  # so that a question of the server is known to belong here
        try:
            if isinstance(self.tool, OfferedPrompt):
                session.begin_turn(f"prompt {server} {self.tool.name} {short(texts)}")
                place = session.place(step=1, call=f"direct_{session.turn}")
                filled = await pool.get_prompt(server, self.tool.name, texts, place=place)
                self.blocks = [message.content for message in filled.messages]
                self.raw, self.failed = filled.raw, filled.warning
            else:
                if isinstance(item, Resource):
                    sent = {"uri": expand(item.uri, texts) if item.is_template else item.uri}
                output = await call_directly(
                    pool, self.recorder, session, self.tool, canonical(sent), on_progress=progressed
                )
                self.blocks, self.raw, self.failed = output.content, output.raw, output.warning
                if output.is_error:
                    self.failed = "the server says that the tool failed (isError)"
            state = f"answered after {(time.monotonic() - began) * 1000:,.0f} ms"
        except TuiHostError as error:
            self.failed, state = str(error), "failed"
        finally:
            session.wait_for("")
            self.state, self.last = state, self.recorder.reached

    def line(self, mask: Mask, *, is_newest: bool) -> SheetLine:
        """Return the request as a line, with its answer and frames below."""
        lines: list[SheetLine] = []
        if self.failed:
            lines.append(SheetLine(key="failed", label=mask(self.failed), style="failed", is_wrapped=True))
        for number, block in enumerate(self.blocks):
            label, text = f"{block.kind} {block.media_type} {block.uri}".strip(), partial(mask, block.text)
            lines.append(SheetLine(key=f"block {number}", label=label, text=text, opened=True, style="key"))
        if self.raw is not None:
            received = partial(json.dumps, self.raw, ensure_ascii=False)
            lines.append(SheetLine(key="raw", label="result as received", text=received))
        lines.append(SheetLine(key="frames", label="frames", text=self._frames, form="plain", style="what"))
        given = short(self.form.given, 120) if self.form.given else ""
        return SheetLine(
            key=f"{self.first}",
            label=mask(f"{name_of(self.form.item)}: {self.state}  {given}"),
            children=tuple(lines),
            opened=is_newest,
            style="key",
        )

    def _frames(self) -> str:
        count = min(5000, (self.last or self.recorder.reached) - self.first)
        return "\n\n".join(
            f"{'-->' if record.direction == 'out' else '<--'} {masked(decode(record.data), record.redacted)}"
            for record in self.recorder.since(self.first, limit=count)
            if record.kind == "frame" and record.connection == self.connection
        )
