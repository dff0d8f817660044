"""Reads the prompts of the tool protocols: the shipped files, or the user's own in the configuration folder. Blocks."""

from __future__ import annotations

import re
from pathlib import Path

from tui_host.errors import SettingsError
from tui_host.settings.paths import shipped

FOLDER = "protocols"
TOOLS, INSTRUCTIONS = "{tools}", "{instructions}"
"""Placeholders for the list of tools, and for the user's system prompt."""
# A section of a prompt that is used only if there are resources to read.
_RESOURCES = re.compile(r"\{resources\}\n?(.*?)\{/resources\}\n?", re.DOTALL)


def template_of(name: str, config_dir: Path) -> str:
    """Return a tool protocol's prompt, read from the files now; empty if the tool protocol has no prompt."""
    own = config_dir / FOLDER / f"{name}.md"
    try:
        template = own.read_text("utf-8-sig")
    except FileNotFoundError:
        standard = shipped(f"{FOLDER}/{name}.md")
        return standard.read_text("utf-8") if standard.is_file() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"cannot be read: {error}", str(own), "fix or remove it") from error
    if TOOLS not in template:
        what = f"{TOOLS} is missing, so the model would not learn of any tool"
        raise SettingsError(what, str(own), f"write {TOOLS} in the place of the list of tools")
    return template


def with_sections(template: str, *, resources: bool) -> str:
    """Return a prompt with its optional section about resources kept or removed."""
    return _RESOURCES.sub(lambda section: section[1] if resources else "", template)
