"""A server's prompt goes to a model in every dialect: roles alternate, begin and end with the user, and nothing is lost."""

from __future__ import annotations

from pathlib import Path

from tests.host.test_demo_dialects import requests_of
from tests.host.test_host import configured, serving, until
from tests.servers.rich_server import RED
from tui_host.capture.link import read_link
from tui_host.chat.filled_prompt import NOT_ALONE, FilledPrompt
from tui_host.llm.dialects.table import DIALECTS
from tui_host.llm.messages import Text
from tui_host.servers.catalog import Content, PromptMessage
from tui_host.settings.schema import ModelRef


def said(role: str, text: str) -> PromptMessage:
    return PromptMessage(role=role, content=Content(kind="text", text=text))


PICTURE = PromptMessage(role="user", content=Content(kind="image", media_type="image/png", data=RED, size=73))
FILLED = FilledPrompt(
    server="rich",
    name="plan",
    messages=(
        said("assistant", "I begin"),
        said("user", "a plan"),
        PICTURE,
        said("assistant", "how long?"),
        said("user", "a week"),
        said("assistant", "I end"),
    ),
)


def test_roles_alternate_and_begin_and_end_with_the_user() -> None:
    messages = FILLED.llm_messages(1)
    assert [message.role for message in messages] == ["user", "assistant", "user"]
    texts = ["".join(part.text for part in message.parts if isinstance(part, Text)) for message in messages]
    assert texts[0].startswith(f"{NOT_ALONE}I begin\n\na plan")
    assert texts[1:] == ["how long?", f"a week\n\n{NOT_ALONE}I end"]


async def test_it_is_sent_in_every_dialect_with_its_origin(tmp_path: Path) -> None:
    async with serving(configured(tmp_path)) as host:
        for name in DIALECTS:
            session = host.sessions.new(model=ModelRef(provider="demo", model=name))
            host.send(session, "", filled=FILLED)
            await until(lambda at=session: not at.busy)
            result = host.result(session)
            assert result is not None
            assert result.stop == "done", name
            body = requests_of(host, session.id)[-1].draft.data
            for words in (b"I begin", b"a plan", b"how long?", b"a week", b"I end", RED.encode()):
                assert words in body, name
            assert host.recorder is not None
            links = [
                read_link(record.draft.data)
                for record in host.recorder.since(0)
                if record.draft.kind == "link" and record.draft.place.session == session.id
            ]
            given = {body[link.span.start : link.span.end] for link in links if link and link.relation == "given"}
            assert {b"I begin", b"a plan", b"how long?", b"a week", b"I end"} <= given, name
