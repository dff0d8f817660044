"""The embedded model, asked in every dialect at once, with tools."""

from __future__ import annotations

from pathlib import Path

from tests.host.test_host import configured, serving, until
from tui_host.capture.record import Record
from tui_host.host.host import Host
from tui_host.llm.dialects.table import DIALECTS, dialect, dialect_at
from tui_host.llm.messages import ToolCall
from tui_host.settings.schema import ModelRef

SUMS = '[servers.math]\nbundled = "math"\n[[rules]]\nserver = "math"\ntool = "*"\naction = "allow"\n'


def requests_of(host: Host, session: str) -> list[Record]:
    """What was sent to the model."""
    assert host.recorder is not None
    drafts = (record for record in host.recorder.since(0) if record.draft.wire == "llm")
    return [record for record in drafts if record.draft.kind == "request" and record.draft.place.session == session]


async def test_the_embedded_model_answers_in_every_dialect(tmp_path: Path) -> None:
    async with serving(configured(tmp_path, servers=SUMS)) as host:
        sessions = {name: host.sessions.new(model=ModelRef(provider="demo", model=name)) for name in DIALECTS}
        for session in sessions.values():
            host.send(session, "what's 6 × 5 + 7?")
        await until(lambda: not any(session.busy for session in sessions.values()))
        for name, session in sessions.items():
            result = host.result(session)

            assert result is not None
            assert (result.stop, "37" in (result.answer or "")) == ("done", True), name
            assert [
                part.name for message in session.messages for part in message.parts if isinstance(part, ToolCall)
            ] == ["math__multiply", "math__add"]
            requests = requests_of(host, session.id)
            for record in requests:
                head = record.draft.head
                assert head is not None
                assert dialect_at(head.url or "") is dialect(name)
                outline = dialect(name).outline(record.draft.data)
                assert outline is not None
                assert outline.count("tools") >= 2
            assert len(requests) >= 2
