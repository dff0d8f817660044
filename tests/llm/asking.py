"""One question to a model behind a real socket, and what came of it."""

from collections.abc import Mapping

import anyio
import pytest

from tests.llm.recorded.asks import EVERY, user
from tui_host.capture.record import Place, Record
from tui_host.capture.recorder import Recorder
from tui_host.capture.redact.redaction import Redactor
from tui_host.errors import ModelError
from tui_host.llm.fold import Fold
from tui_host.llm.messages import Ask
from tui_host.llm.model_client import ModelClient, Stream
from tui_host.llm.protocols.tool_protocol import Reader
from tui_host.settings.schema import Provider, Template

RECORDED = EVERY["openai"].tools.body  # a whole answer of Chat Completions: text, and a call
ASK = Ask(model="m", messages=(user("what's 6 × 5?"),))
PLACE = Place(session="s", turn=1, step=2)
KEY = "sk-canary-0123456789"


def provider_at(url: str, **more: object) -> Provider:
    return Provider(name="mine", base_url=Template(text=url, literal=True), **more)  # pyright: ignore[reportArgumentType] - shorthand


def recorder() -> Recorder:
    return Recorder(None, Redactor(), capture="c")


def body_of(records: list[Record]) -> bytes:
    return b"".join(record.data for record in records if record.kind == "chunk")


async def asked(
    url: str,
    *,
    fold: Fold | None = None,
    kept: Recorder | None = None,
    environment: Mapping[str, str] | None = None,
    reader: Reader | None = None,
    **more: object,
) -> Fold:
    """The answer; what came before an error stands in the fold that was given."""
    fold = fold or Fold(provider="mine", model="m", call_id=str)
    client = ModelClient(kept or recorder(), environment or {})
    provider = provider_at(url, **more)
    try:
        with anyio.fail_after(90):
            stream = Stream(client=client, provider=provider, ask=ASK, place=PLACE, reader=reader or Reader())
            async with stream:
                async for events in stream.batches:
                    for event in events:
                        fold.add(event)
    finally:
        await client.aclose()
    return fold


async def refused(url: str, **more: object) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await asked(url, **more)  # pyright: ignore[reportArgumentType] - shorthand
    return caught.value
