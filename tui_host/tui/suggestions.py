"""What stands where nothing was said or recorded yet: three questions, the models found on this machine, a file that is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from tui_host.capture.visible import line
from tui_host.settings.presets import PRESETS
from tui_host.tui.keys import key_of

if TYPE_CHECKING:
    from tui_host.llm.probe import LocalServer
    from tui_host.settings.schema import Settings

ARRIVING = "arriving"  # the id of a session that is read from a file, until it has one; no stored session has it
READING = "reading {} …"  # what stands in the chat while a file with this title is read
FROM_FILE = "From a file"
QUESTIONS = {
    "math": "what is (6 × 5 + 7) / 2? use the tools",
    "weather": "what is the weather in Paris and in Tokyo?",
    "orders": "订单 1042 到哪了？",
}
"""Questions that the tools of each bundled server can answer."""
ANYWHERE = ("which tools do you have?", "show me a table and some code", "写 100 字")
"""Questions for sessions without some of these servers."""
HOW = "Press a number to ask its question. Nothing runs before you approve it."
NONE_FOUND = "The demo model follows fixed rules; it is no AI. For a real model, set OPENAI_API_KEY (or another provider's key) or start Ollama, then choose it with {}."
MOST = 4  # number of keys and local servers to name; the model screen shows all


class Offers(NamedTuple):
    """The content of an empty chat: questions with their keys, lines of advice, and what failed."""

    questions: tuple[tuple[str, str], ...] = ()
    lines: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()


def read_only(whose: str) -> str:
    """Return the prompt's placeholder in a session of others."""
    return f"{whose}, read only.  {key_of('new')} new session  / commands"


def offers(settings: Settings, local: Sequence[LocalServer] = ()) -> Offers:
    """Return the content of an empty chat, with the model servers that answered on this machine."""
    keys = {name: preset.key_variable or "" for name, preset in PRESETS.items()}
    names = [name for name, key in keys.items() if settings.environment.get(key, "").strip()]
    present = [f"{keys[name]} is set ({name})" for name in names[:MOST]]
    for server in local[:MOST]:
        label, models = PRESETS[server.provider].label, [*server.models]
        more = f" and {len(models) - 1} more" if len(models) > 1 else ""
        words = f"with {line(models[0], 40)}{more}" if models else "but has no model"
        present.append(f"{label} runs here{'' if models else ','} {words}")
    lines = [HOW]
    if present:
        lines += [f"Found: {'; '.join(present)}.", f"Choose the model with {key_of('model')}."]
    elif settings.model is None or settings.model.provider == "demo":
        lines.append(NONE_FOUND.format(key_of("model")))
    off = sum(not spec.enabled for spec in settings.servers.values())
    if off:  # such as all that were imported: nothing else would say that they are there
        lines.append(f"{off} server{'s are' if off > 1 else ' is'} switched off: {key_of('servers')}")
    there = {spec.bundled for spec in settings.servers.values() if spec.enabled}
    questions = [*(words for server, words in QUESTIONS.items() if server in there), *ANYWHERE]
    return Offers(tuple(zip("123", questions, strict=False)), tuple(lines))
