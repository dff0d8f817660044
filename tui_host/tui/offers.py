"""What an empty chat offers: three questions to try, and the real models that were found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tui_host.capture.visible import line
from tui_host.llm.probe import found
from tui_host.settings.presets import PRESETS
from tui_host.tui.widgets.transcript_empty import Empty

if TYPE_CHECKING:
    from tui_host.llm.probe import LocalServer
    from tui_host.settings.schema import Settings

QUESTIONS = (
    "what is (6 × 5 + 7) / 2? use the tools",
    "what is the weather in Paris and in Tokyo?",
    "订单 1042 到哪了？",
)
HOW = "Each number sends its question. Nothing runs before you approve it."
NONE_FOUND = "The demo model follows rules and is no AI. For a real one set OPENAI_API_KEY (or another provider's), or start Ollama. f4 chooses the model."
MOST = 4
"""Keys, and local servers, that are named; the model screen has them all."""


def offers(settings: Settings, local: Sequence[LocalServer] = ()) -> Empty:
    """What stands in a chat without messages.

    Args:
        settings: Where keys are looked for.
        local: Model servers that answered on this machine; none before they were asked.
    """
    keys = [f"{PRESETS[name].key_variable} is set ({name})" for name in found(settings.environment)]
    servers = [_server(server) for server in local]
    lines = [HOW]
    if keys or servers:
        lines += [f"Found: {'; '.join([*keys[:MOST], *servers[:MOST]])}.", "f4 chooses the model."]
    elif settings.model is None or settings.model.provider == "demo":
        lines.append(NONE_FOUND)
    questions = tuple((str(number), words) for number, words in enumerate(QUESTIONS, start=1))
    return Empty(questions=questions, lines=tuple(lines))


def _server(server: LocalServer) -> str:
    label = PRESETS[server.provider].label
    first = next(iter(server.models), "")
    if not first:
        return f"{label} runs here, without a model"
    more = f" and {len(server.models) - 1} more" if len(server.models) > 1 else ""
    return f"{label} runs here with {line(first, 40)}{more}"
