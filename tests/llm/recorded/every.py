"""All that was recorded, by the dialect's name."""

from __future__ import annotations

from collections.abc import Mapping

from tests.llm.recorded import anthropic, gemini, ollama, openai, openai_responses
from tests.llm.recorded.case import Recorded

EVERY: Mapping[str, Recorded] = {
    each.RECORDED.dialect: each.RECORDED for each in (openai, openai_responses, anthropic, gemini, ollama)
}
