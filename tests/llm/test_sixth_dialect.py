"""The smallest dialect that one can think of: one class, and one line in the registry. All else takes it as it takes the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.chat.bench import in_turn, made
from tests.llm.peer import Script, head, peer
from tui_host.capture.http.exchange import fold_exchanges
from tui_host.chat.policy import Policy
from tui_host.errors import JSON, ModelError
from tui_host.llm.body_framing import LineDecoder
from tui_host.llm.dialects import dialect_table as dialects
from tui_host.llm.dialects.body_kinds import AnswerPart, Fit
from tui_host.llm.dialects.dialect import Dialect, Target, WireRequest
from tui_host.llm.events import CallArguments, CallStarted, ModelEvent, Stopped, TextDelta
from tui_host.llm.messages import Ask, Message, Text, ToolCall, ToolResult
from tui_host.llm.outline import Outline
from tui_host.llm.provider_faults import refusal
from tui_host.llm.tool_names import OPENAI_NAMES, NameRule
from tui_host.settings.environment_references import Secret
from tui_host.settings.schema import ModelRef, Provider, Template


class Telegram:
    """A line for a message. The answer: `say WORDS`, `call TOOL ARGUMENTS`, and `stop`."""

    name: str = "telegram"
    versions: tuple[str, ...] = ()
    paths: tuple[str, ...] = ("/wire",)
    models_path: str = "models"
    name_rule: NameRule = OPENAI_NAMES

    def write(self, ask: Ask, target: Target) -> WireRequest:
        lines = [f"to {target.provider} {ask.model}", *(f"tool {tool.name}" for tool in ask.tools)]
        lines += [line for message in ask.messages for line in _lines(message)]
        return WireRequest(path="wire", body="".join(f"{line}\n" for line in lines).encode(), headers=())

    def headers(self, secret: Secret | None, target: Target) -> tuple[tuple[str, str], ...]:
        del target
        return () if secret is None else (("key", secret.reveal()),)

    def decoder(self, content_type: str) -> Tape:
        del content_type
        return Tape()

    def error(self, status: int, headers: Sequence[tuple[str, str]], body: bytes) -> ModelError:
        return refusal(status, headers, body)

    def outline(self, body: bytes, names: Mapping[str, tuple[str, str]] | None = None) -> Outline | None:
        del body, names  # no JSON, so no tree
        return None

    def fits_request(self, body: Mapping[str, JSON]) -> Fit:
        del body
        return 0

    def answer_part(self, body: Mapping[str, JSON]) -> AnswerPart | None:
        del body
        return None

    def models(self, body: bytes) -> tuple[str, ...]:
        return tuple(body.decode().split())


def _lines(message: Message) -> list[str]:
    found: list[str] = []
    for part in message.parts:
        match part:
            case Text():
                found.append(f"{message.role} {part.text}")
            case ToolCall():
                found.append(f"call {part.name} {part.arguments}")
            case ToolResult():
                found.append(f"told {' '.join(block.text for block in part.content if isinstance(block, Text))}")
            case _:
                pass
    return found


class Tape:
    """Reads the answer."""

    def __init__(self) -> None:
        self._lines = LineDecoder()
        self._calls = 0
        self._has_stopped = False

    def feed(self, data: bytes) -> list[ModelEvent]:
        lines = self._lines.feed(data)
        return [event for line in lines for event in self._read(line.data.decode(), line.start, line.end)]

    def finish(self) -> list[ModelEvent]:
        if self._has_stopped:
            return []
        return [Stopped(stop="cut", vendor="", start=0, end=0)]

    def _read(self, line: str, start: int, end: int) -> list[ModelEvent]:
        word, _, rest = line.partition(" ")
        if word == "say":
            return [TextDelta(text=rest, start=start, end=end)]
        if word == "call":
            name, _, arguments = rest.partition(" ")
            self._calls += 1
            number = self._calls - 1
            return [
                CallStarted(index=number, wire_id="", name=name, start=start, end=end),
                CallArguments(index=number, text=arguments, start=start, end=end),
            ]
        self._has_stopped = True
        return [Stopped(stop="tools" if self._calls else "end", vendor=word, start=start, end=end)]


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dialects, "DIALECTS", {**dialects.DIALECTS, "telegram": Telegram()})


@pytest.mark.usefixtures("registered")
async def test_a_turn_with_a_tool_goes_through_a_dialect_that_was_not_there_before(tmp_path: Path) -> None:
    first = [
        head(kind="text/plain"),
        b"say I will add.\ncall math__a",
        b'dd {"a":6,"b":5}\ncall math__add {"a"',
        b":1,",
    ]
    second = [head(kind="text/plain"), b"say It is 11.\nst", b"op\n"]

    at, bodies = await _asked(tmp_path, in_turn([*first, b'"b":2}\nstop\n'], second))

    asked = b"to mine m\ntool math__add\ntool math__multiply\ntool math__divide\nuser 6 + 5?\n"
    said = b'assistant I will add.\ncall math__add {"a":6,"b":5}\ncall math__add {"a":1,"b":2}\n'
    assert bodies == [asked, asked + said + b"told 11\ntold 3\n"]
    assert at == ("done", "It is 11.", 2)


@pytest.mark.usefixtures("registered")
async def test_what_breaks_off_in_it_is_told_as_in_every_other(tmp_path: Path) -> None:
    at, _ = await _asked(tmp_path, in_turn([head(kind="text/plain"), b"say I will\n"]))

    assert at == ("error", "I will", 1)


def test_what_is_no_dialect_is_told() -> None:
    spoken: Dialect = Telegram()

    assert spoken.name not in dialects.DIALECTS
    with pytest.raises(Exception, match="no dialect 'telegram'"):
        dialects.dialect(spoken.name)


async def _asked(tmp_path: Path, script: Script) -> tuple[tuple[str, str | None, int], list[bytes]]:
    """How a turn ended, and the bodies that went out; what each call is linked to is its own line."""
    async with peer(script) as there:
        provider = Provider(name="mine", dialect="telegram", base_url=Template(text=there.url, literal=True))

        async def found(_: ModelRef) -> Provider:
            return provider

        at = made(there.url, tmp_path, policy=Policy((), allow_all=True))
        at.services.provider = found
        at.session.model = replace(at.session.model, provider="mine", model="m")
        result = await at.ask("6 + 5?")
        await at.services.client.aclose()
    exchanges = fold_exchanges(at.records)
    for link in at.links():
        if link.relation == "asked":
            pieces = link.span.pieces(exchanges["c1", link.span.exchange or ""].decoded("response").data)
            assert [piece[:14] for piece in pieces] == [b"call math__add"]
    return (result.stop, result.answer, result.steps), there.bodies
