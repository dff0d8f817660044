"""What the events of a stream say, in every dialect by its own reader."""

from __future__ import annotations

import pytest

from tests.llm.recorded.case import TEXT
from tests.llm.recorded.every import EVERY
from tui_host.answers.event_words import EventReader, Said
from tui_host.capture.http.sse import SseDecoder
from tui_host.llm.body_framing import LineDecoder
from tui_host.llm.dialects.table import DIALECTS


def _said(name: str, body: bytes) -> list[Said]:
    splitter = LineDecoder() if EVERY[name].framing == "lines" else SseDecoder()
    reader = EventReader(DIALECTS[name])
    events = [*splitter.feed(body), *splitter.finish()]
    return [said for event in events if (said := reader.said(event)) is not None]


@pytest.mark.parametrize("name", EVERY)
def test_events_say_text_and_name_and_arguments_and_why_the_answer_ended(name: str) -> None:
    case = EVERY[name].tools
    said = _said(name, case.body)
    words = "\n".join(each.words for each in said)
    assert "".join(each.text for each in said if each.kind == "text") == TEXT
    assert 'text "Let me "' in words
    assert "name get_weather" in words
    assert 'arguments {"' in words
    assert f"stop {case.vendor}" in words


@pytest.mark.parametrize("name", EVERY)
def test_events_say_thinking_and_tokens_and_an_error(name: str) -> None:
    recorded = EVERY[name]
    assert any(each.words.startswith('thinking "Two ') for each in _said(name, recorded.thinking.body))
    usage = recorded.usage.usage
    assert any(f"{usage.output_total:,} out" in each.words for each in _said(name, recorded.usage.body))
    assert any("error " in each.words for each in _said(name, recorded.failing.body))
