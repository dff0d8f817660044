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
LARGEST = 1 << 20
TOOLS, INSTRUCTIONS = "{tools}", "{instructions}"
"""Placeholders for the list of tools, and for the user's system prompt."""
_RESOURCES = re.compile(r"\{resources\}\n?(.*?)\{/resources\}\n?", re.DOTALL)
"""A section of a prompt that is used only if there are resources to read."""
_PLACE = re.compile(r"\{[A-Za-z_ ]{1,30}\}")
_ELSEWHERE = ("{time}", "{servers}", "{server_instructions}")
"""Placeholders that are valid only in the system prompts of profiles."""


def template_of(name: str, config_dir: Path) -> str:
    """Return a tool protocol's prompt, read from the files now; empty if the tool protocol has no prompt.

    Raises:
        SettingsError: The user's own prompt cannot be read, has no place for the tools, or has an unknown placeholder.
    """
    own = config_dir / FOLDER / f"{name}.md"
    try:
        text = own.read_bytes()
    except FileNotFoundError:
        standard = shipped(f"{FOLDER}/{name}.md")
        return standard.read_text(encoding="utf-8") if standard.is_file() else ""
    except OSError as error:
        raise SettingsError(f"cannot be read: {error.strerror}", str(own), "fix or remove it") from error
    if len(text) > LARGEST:
        raise SettingsError(f"larger than {LARGEST >> 20} MB", str(own), "write a shorter prompt")
    try:
        template = text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SettingsError("not UTF-8", str(own), "save it as UTF-8") from error
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
        if name in with_prompts or name == "README":
            continue
        where = shown(f"{FOLDER}/{name}.md")
        if name in PROTOCOLS:
            yield f"{where} is not used: {name} has no prompt to replace"
        else:
            yield f'{where} is not used: no tool protocol "{shown(name)}"; {nearest(name, with_prompts)}'


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
    for place in dict.fromkeys(_PLACE.findall(template)):
        meant = next(
            (placeholder for placeholder in (TOOLS, INSTRUCTIONS, "{resources}") if _same(place, placeholder)), ""
        )
        if place in _ELSEWHERE:
            report.mistake(f"{place} is not replaced here", file, "use it in a profile's system prompt")
        elif meant and place != meant:
            report.mistake(f"{place} is not replaced here", file, f"did you mean {meant}?")
    report.raise_if_any()


def _same(place: str, known: str) -> bool:
    """Whether two placeholders differ only in case, spaces, or a plural ending."""
    return place.strip("{} ").lower().rstrip("s") == known.strip("{}").rstrip("s")
