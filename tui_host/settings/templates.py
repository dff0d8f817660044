"""The prompts of the tool protocols: shipped as files, replaced by a person's own beside the configuration. Blocks on the disk."""

from __future__ import annotations

from pathlib import Path

from tui_host.errors import SettingsError
from tui_host.settings.paths import shipped

FOLDER = "protocols"
LARGEST = 1 << 20


def template_of(name: str, config_dir: Path) -> str:
    """A tool protocol's prompt, as it stands in the files now; empty for one that has none.

    Raises:
        SettingsError: A person's own cannot be read.
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
        return text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SettingsError("not UTF-8", str(own), "save it as UTF-8") from error
