"""A story of 1,000 exchanges and 100 MB of bodies: joined as the app does it, exported and shown as the command line does it."""

from __future__ import annotations

import os
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.bench.measure import Table, at_most
from tests.infer.forms import FORMS, Answer, Call, Entry, Results, User
from tests.infer.kept import KeptModelTap, KeptServerTap
from tui_host.capture.exports import EXPORTS
from tui_host.capture.store.store import Store
from tui_host.infer.live_story import LiveStory
from tui_host.infer.stories import Stories, TapStory
from tui_host.infer.whole_story import WholeStory
from tui_host.settings.paths import DATABASE

STEPS = 50
"""Exchanges of one conversation, as a coding agent has them: each but the last asks for a call."""
WORDS = 460
"""Words of a tool's result, so that the average request has 100 kB."""


def record_story(folder: Path, conversations: int) -> int:
    """Record a story of two taps, one before a model and one before a server; the bytes of all requests."""
    form, size = FORMS["openai"], 0
    chance = random.Random(0)  # noqa: S311 - the same words each time
    model, math = KeptModelTap(folder, "example"), KeptServerTap(folder, "math")
    math.start(["add"], client="Cline")
    for number in range(conversations):
        entries: list[Entry] = [User(f"question {number}: what is it?")]
        for step in range(STEPS):
            call = Call(f"call_{number}_{step}", "math__add", {"a": step, "b": number})
            answer = Answer("", [call]) if step < STEPS - 1 else Answer("It is this.")
            size += len(form.request(entries))
            list(model.answer(form, model.ask(form, entries, "Cline/3.20"), answer))
            text = " ".join(f"{chance.getrandbits(28):07x}" for _ in range(WORDS))
            math.result(math.call("add", call.arguments)[0], text)
            entries += [answer, Results([(call, text)])]
        while not model.kept.recording.recorder.flush(60):  # the tap's thread may not have opened its database yet
            time.sleep(0.01)
    assert model.kept.recording.close()
    assert math.kept.recording.close()
    return size


def processor_seconds(work: Callable[[], object]) -> float:
    """Seconds of the processor that this takes: what else runs on the machine does not count."""
    before = time.process_time()
    work()
    return time.process_time() - before


def followed(store: Store, story: TapStory) -> None:
    """Read a story to its end, as a screen that shows it does."""
    following = LiveStory(store, story.id)
    while not (following.updates and following.updates[-1].state.is_whole):
        following.updates.clear()
        following.read(0.25)
        time.sleep(0.01)


def exported(store: Store, story: TapStory, form: str) -> None:
    whole = WholeStory(store, story)
    with Path(os.devnull).open("wb") as file:
        file.writelines(EXPORTS[form](whole, whole.info))


def run(table: Table) -> None:
    conversations = 2 if table.is_quick else 20
    with tempfile.TemporaryDirectory() as name:
        size = record_story(Path(name), conversations)
        store = Store.open_to_read(Path(name, "data", DATABASE))
        (story,) = Stories(store).listed()[0]
        assert isinstance(story, TapStory)
        count = conversations * STEPS
        table.heading("stories", f"{count:,} exchanges, {size / 1e6:.0f} MB of requests, in processor seconds")
        scale = conversations / 20
        for what, work in (
            ("followed until all is joined", lambda: followed(store, story)),
            ("shown", lambda: WholeStory(store, story).session_items("")),
            ("exported as jsonl", lambda: exported(store, story, "jsonl")),
            ("exported as markdown", lambda: exported(store, story, "markdown")),
        ):
            table.figure(what, processor_seconds(work), "s", at_most(2 * scale))
        store.close()
