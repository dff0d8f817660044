"""One question to a model behind a real socket, and what came of it."""

from __future__ import annotations

import anyio
import pytest

from tests.llm.recorded.every import EVERY
from tui_host.capture.record import Place, Record
from tui_host.capture.recorder import Recorder
from tui_host.capture.redact.redaction import Redactor
from tui_host.errors import ModelError
from tui_host.llm.fold import Fold
from tui_host.llm.messages import Ask, Message, Text
from tui_host.llm.model_client import ModelClient, Stream
from tui_host.llm.outgoing import Target
from tui_host.settings.schema import Provider, Template

TARGET = Target(provider="p")

RECORDED = EVERY["openai"].tools.body
"""A whole answer of Chat Completions: text, and a call."""

ASK = Ask(model="m", messages=(Message(role="user", parts=(Text(text="what's 6 × 5?"),)),))


PLACE = Place(session="s", turn=1, step=2)


KEY = "sk-canary-0123456789"


def provider_at(url: str, **more: object) -> Provider:
    """A provider at that address."""
    return Provider(name="mine", base_url=Template(text=url, literal=True), **more)  # pyright: ignore[reportArgumentType] - shorthand


def recorder() -> Recorder:
    """Keeps records in memory."""
    return Recorder(None, Redactor(), capture="c")


def body_of(records: list[Record]) -> bytes:
    """A response's body out of its chunks."""
    return b"".join(record.draft.data for record in records if record.draft.kind == "chunk")


async def told(stream: Stream) -> Fold:
    """The whole answer, folded; errors pass."""
    fold = Fold(provider="mine", model="m", call_id=str)
    async with stream:
        async for events in stream.batches():
            for found in events:
                fold.add(found)
    return fold


async def asked(
    url: str, *, kept: Recorder | None = None, environment: dict[str, str] | None = None, **more: object
) -> Fold:
    client = ModelClient(kept or recorder(), environment or {})
    try:
        with anyio.fail_after(90):
            return await told(Stream(client=client, provider=provider_at(url, **more), ask=ASK, place=PLACE))
    finally:
        await client.aclose()


async def refused(url: str, **more: object) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await asked(url, **more)  # pyright: ignore[reportArgumentType] - shorthand
    return caught.value


async def told_with_error(url: str) -> tuple[Fold, ModelError | None]:
    """What came, and what was raised after it."""
    fold = Fold(provider="mine", model="m", call_id=str)
    client = ModelClient(recorder(), {})
    try:
        with anyio.fail_after(90):
            async with Stream(client=client, provider=provider_at(url), ask=ASK, place=PLACE) as stream:
                async for events in stream.batches():
                    for found in events:
                        fold.add(found)
    except ModelError as error:
        return fold, error
    finally:
        await client.aclose()
    return fold, None


def kinds(records: list[Record]) -> list[str]:
    return [record.draft.kind for record in records]
