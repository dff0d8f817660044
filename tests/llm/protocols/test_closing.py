"""An answer that goes on behind its call is read for a while, for what is made up is what people come to see, then closed."""

from __future__ import annotations

import anyio
import pytest

from tests.kit.bodies import chunk
from tests.kit.peer import Exchange, head, peer
from tests.llm.asking import ASK, PLACE, provider_at, recorder
from tests.llm.protocols.answers import PLAIN, SUM, TOOLS, call
from tui_host.capture.http.exchange_end import read_ending
from tui_host.llm.answer_stream import CLOSED, MADE_UP_LIMIT
from tui_host.llm.fold import Fold
from tui_host.llm.model_client import ModelClient, Stream
from tui_host.llm.protocols.table import protocol


@pytest.mark.parametrize("name", PLAIN)
async def test_an_answer_that_goes_on_behind_its_call_is_closed_by_the_host(name: str) -> None:
    async def goes_on(exchange: Exchange) -> None:
        await exchange.send(head() + chunk({"content": call(name)}))
        while True:
            await exchange.send(chunk({"content": "\nObservation: I have it. " + "x" * 500}))

    kept = recorder()
    client = ModelClient(kept, {})
    fold = Fold(provider="mine", model="m", call_id=str)
    reader = protocol(name).reader(TOOLS)
    with anyio.fail_after(90):
        async with peer(goes_on) as there:
            async with Stream(
                client=client, provider=provider_at(there.url), ask=ASK, place=PLACE, reader=reader
            ) as stream:
                async for events in stream.batches():
                    for event in events:
                        fold.add(event)
            await there.until(lambda there: there.ended)
    await client.aclose()

    assert [(each.call.name, each.call.arguments, each.complete) for each in fold.calls] == [("math__add", SUM, True)]
    assert (fold.stop, fold.vendor_stop, fold.usage.output_total) == ("end", CLOSED, None)
    assert sum(len(piece.text) for piece in fold.cut_off) > MADE_UP_LIMIT
    assert read_ending(list(kept.since(0))[-1].draft.data).reason == "closed by host"
