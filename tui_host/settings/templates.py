"""The prompts of the tool protocols: shipped as files, replaced by a person's own beside the configuration. Blocks on the disk."""

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
"""What a prompt holds in the place of the list of tools, and of the person's own system prompt."""
_RESOURCES = re.compile(r"\{resources\}\n?(.*?)\{/resources\}\n?", re.DOTALL)
"""A section that a prompt has only where there are resources to be read."""
_PLACE = re.compile(r"\{[A-Za-z_ ]{1,30}\}")
_ELSEWHERE = ("{time}", "{servers}")
"""What stands in the prompts of profiles alone."""


def template_of(name: str, config_dir: Path) -> str:
    """A tool protocol's prompt, as it stands in the files now; empty for one that has none.

    Raises:
        SettingsError: A person's own cannot be read, or lists no tools, or holds what nothing is put in the place of.
    """
    own = config_dir / FOLDER / f"{name}.md"
    try:
        text = own.read_bytes()
    except FileNotFoundError:
        standard = shipped(f"{FOLDER}/{name}.md")
        return standard.read_text(encoding="utf-8") if standard.is_file() else ""
    except OSError as error:
        raise SettingsError(f"cannot be read: {error.strerror}", str(own), "mend or remove it") from error
    if len(text) > LARGEST:
        raise SettingsError(f"larger than {LARGEST >> 20} MB", str(own), "write a shorter prompt")
    try:
        template = text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SettingsError("not UTF-8", str(own), "save it as UTF-8") from error
    _check(template, str(own))
    return template


def with_sections(template: str, *, resources: bool) -> str:
    """A prompt with the sections that apply, without their marks; `resources` says whether there are any to be read."""
    return _RESOURCES.sub(lambda section: section[1] if resources else "", template)


def unused_templates(config_dir: Path) -> Iterator[str]:
    """What to tell of files beside the configuration that look like prompts of tool protocols and are none."""
    try:
        names = sorted(path.stem for path in (config_dir / FOLDER).iterdir() if path.suffix == ".md")
    except OSError:
        return  # none is there; one that cannot be read is told when it is used
    known = [name for name in PROTOCOLS if "hub" not in name and name != "native"]
    for name in names:
        if name in known or name == "README":
            continue
        where = shown(f"{FOLDER}/{name}.md")
        if name in PROTOCOLS:
            yield f"{where}: {name} has no prompt of its own to be replaced; it is not used"
        else:
            yield f'{where}: no tool protocol "{shown(name)}"; it is not used; {nearest(name, known)}'


def _check(template: str, file: str) -> None:
    """Tell what would go to the model otherwise than it was meant. Other words in braces are the person's own."""
    report = Report()
    if TOOLS not in template:
        what = f"{TOOLS} stands nowhere in it, so the model would be told of no tool"
        report.mistake(what, file, f"write {TOOLS} where the list of tools belongs")
    template = with_sections(template, resources=True)
    for mark, other in (("{resources}", "{/resources}"), ("{/resources}", "{resources}")):
        if mark in template:
            report.mistake(f"{mark} has no {other}", file, "a section for resources stands between these two")
    for place in dict.fromkeys(_PLACE.findall(template)):
        meant = next((each for each in (TOOLS, INSTRUCTIONS, "{resources}") if _same(place, each)), "")
        if place in _ELSEWHERE:
            report.mistake(f"nothing is put in the place of {place}", file, "it belongs into a profile's system prompt")
        elif meant and place != meant:
            report.mistake(f"nothing is put in the place of {place}", file, f"write {meant}, if that was meant")
    report.raise_if_any()


def _same(place: str, known: str) -> bool:
    """Whether one is the other but for case, spaces, and an ending."""
    return place.strip("{} ").lower().rstrip("s") == known.strip("{}").rstrip("s")
