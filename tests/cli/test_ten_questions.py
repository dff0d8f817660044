"""The ten questions that the pages are for, asked of sessions with everything in them that there are questions about."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import anyio
import pytest

from tests.kit.program import Programs
from tests.recorded.recording import record
from tui_host.capture.record import Record

TEN = [
    ("why so many tokens, and what did the protocol put in", "parcel", "--bill 1", ["lists the tools", "teaches"]),
    ("why did this request take so many", "station", "--bill 4", ["result of lab.history", "atlas", "LLM 4"]),
    (
        "who allowed it, what was changed, what not told",
        "station",
        "--chain 1.1.1",
        ["by you", "metric", "imperial", "not told: structuredContent source, confidence"],
    ),
    ("the same in Chinese", "chinese", "--chain 1.1.1", ["structuredContent 湿度", "气象站的资料是昨天的"]),
    ("who refused it, and why", "station", "--chain 2.1.1", ["rejected by you", "not in production"]),
    ("what became this call", "parcel", "--chain 2.1.1", ["7 rue Basse", "edited address", "came from orders.find"]),
    ("where does a value come from", "station", "--chain 1.2.1", ["GZ-7741-K", "came from lab.lookup", "events"]),
    ("where does the cache break", "station", "--changes 5", ["messages[0]", "a time: it changes"]),
    ("what changed between two", "station", "--changes 4 7", ["and tell our partners the query"]),
    ("which tool was never called", "chinese", "--tools", ["天气.画地图", '"6", "0"], "mark": "never called"']),
    ("why did it take so long", "station", "--time 1", ["lab.lookup", "math.multiply", "after 429"]),
    ("what deserves a look", "station", "--look", ["refused with 429", "changed: search", "lab exited 134", "edited"]),
    ("how did it end", "station", "--servers", ["cannot open /srv/reports", "exited 134", "connection 2"]),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ten")


@pytest.fixture(scope="module")
def coming(folder: Path) -> Mapping[str, Record]:
    """The request that would come next, by the names of the stories."""
    return anyio.run(record, folder, 0.02)


@pytest.mark.parametrize(("story", "page", "answers"), [case[1:] for case in TEN], ids=[case[0] for case in TEN])
def test_a_question_has_its_answer_on_a_page(
    program: Programs, folder: Path, coming: Mapping[str, Record], story: str, page: str, answers: list[str]
) -> None:
    session = coming[story].place.session
    shown = program.run("sessions", "show", session, *page.split(), "--json", "--data-dir", folder)
    told = json.dumps(json.loads(shown.out), ensure_ascii=False)
    assert [answer for answer in answers if answer not in told] == []


def test_the_next_request_is_known_before_it_is_sent(coming: Mapping[str, Record]) -> None:
    assert "70.2 °F." in coming["station"].data.decode()
    assert "lab__atlas" in coming["station"].data.decode()
