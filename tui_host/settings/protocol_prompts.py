"""Reads the prompts of the tool protocols: the shipped files, or the user's own in the configuration folder. Blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tui_host.errors import SettingsError
from tui_host.settings.mistakes import Report, nearest, shown
from tui_host.settings.paths import shipped
from tui_host.settings.schema import PROTOCOLS

FOLDER = "protocols"
LARGEST_BYTES = 1 << 20
TOOLS, INSTRUCTIONS = "{tools}", "{instructions}"
"""Placeholders for the list of tools, and for the user's system prompt."""
# A section of a prompt that is used only if there are resources to read.
_RESOURCES = re.compile(r"\{resources\}\n?(.*?)\{/resources\}\n?", re.DOTALL)
_PLACE = re.compile(r"\{[A-Za-z_ ]{1,30}\}")
# Placeholders that are valid only in the system prompts of profiles.
_ELSEWHERE = ("{time}", "{servers}", "{server_instructions}")


def template_of(name: str, config_dir: Path) -> str:
    """Return a tool protocol's prompt, read from the files now; empty if the tool protocol has no prompt.

    Raises:
        SettingsError: The user's own prompt cannot be read, has no place for the tools, or has an unknown placeholder.
    """
    own = config_dir / FOLDER / f"{name}.md"
    try:
        data = own.read_bytes()
        template = data.decode("utf-8-sig")
    except FileNotFoundError:
        standard = shipped(f"{FOLDER}/{name}.md")
        return standard.read_text(encoding="utf-8") if standard.is_file() else ""
    except OSError as error:
        raise SettingsError(f"cannot be read: {error.strerror}", str(own), "fix or remove it") from error
    except UnicodeDecodeError as error:
        raise SettingsError("not UTF-8", str(own), "save it as UTF-8") from error
    if len(data) > LARGEST_BYTES:
        raise SettingsError(f"larger than {LARGEST_BYTES >> 20} MB", str(own), "write a shorter prompt")
    _check(template, str(own))
    return template


def with_sections(template: str, *, resources: bool) -> str:
    """Return a prompt with its optional section about resources kept or removed."""
    return _RESOURCES.sub(lambda section: section[1] if resources else "", template)


def unused_templates(config_dir: Path) -> Iterator[str]:
    """Yield messages about files in the folder of prompts whose name is no tool protocol's."""
    try:
        names = sorted(path.stem for path in (config_dir / FOLDER).iterdir() if path.suffix == ".md")
    except OSError:
        return  # the folder does not exist; an unreadable prompt is reported when it is used
    with_prompts = [name for name in PROTOCOLS if "hub" not in name and name != "native"]
    for name in names:
        reason = f'no tool protocol "{shown(name)}"; {nearest(name, with_prompts)}'
        if name in PROTOCOLS:
            reason = f"{name} has no prompt to replace"
        if name not in (*with_prompts, "README"):
            yield f"{shown(f'{FOLDER}/{name}.md')} is not used: {reason}"


def _check(template: str, file: str) -> None:
    """Reject misspelled placeholders, which would reach the model literally. Other words in braces belong to the user."""
    report = Report()
    if TOOLS not in template:
        what = f"{TOOLS} is missing, so the model would not learn of any tool"
        report.mistake(what, file, f"write {TOOLS} in the place of the list of tools")
    template = with_sections(template, resources=True)
    for mark, partner in (("{resources}", "{/resources}"), ("{/resources}", "{resources}")):
        if mark in template:
            report.mistake(f"{mark} has no {partner}", file, "enclose the section for resources in both")
    known = {_plain(placeholder): placeholder for placeholder in (TOOLS, INSTRUCTIONS, "{resources}")}
    for place in dict.fromkeys(_PLACE.findall(template)):
        meant = known.get(_plain(place), place)
        if place in _ELSEWHERE:
            report.mistake(f"{place} is not replaced here", file, "use it in a profile's system prompt")
        elif place != meant:
            report.mistake(f"{place} is not replaced here", file, f"did you mean {meant}?")
    report.raise_if_any()


def _plain(place: str) -> str:
    """Return a placeholder without what people vary: case, spaces, and the plural's ending."""
    return place.strip("{} ").lower().rstrip("s")
