"""Paths of the configuration, the data, and the files that come with the program."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from tui_host.errors import SettingsError

APP = "tui-host"
CONFIG_FILE = "config.toml"
DATABASE = "tui-host.db"
_PACKAGE = Path(__file__).resolve().parent.parent
DOCUMENTS = _PACKAGE / "docs"  # those that come with the program


def default_dir(kind: Literal["config", "data"]) -> Path:
    """Return the platform's folder for this program's configuration or data, which may not exist."""
    import platformdirs  # late: a host waits while its tap starts, which is told its folder

    find, option = platformdirs.user_data_dir, "--data-dir DIR"
    if kind == "config":
        find, option = platformdirs.user_config_dir, "--config FILE"
    path = find(APP, appauthor=False)
    # A relative path would lead into the working directory. It is `~` where no home folder is known.
    if not path.startswith("/"):
        raise SettingsError("no home folder is known", "HOME", f"set HOME to an absolute path, or give {option}")
    return Path(path)


def data_dir(typed: Path | None, environment: Mapping[str, str]) -> Path:
    """Return the folder of the database: as typed, else from the environment, else the platform's default."""
    return named(typed, "--data-dir", "TUI_HOST_DATA_DIR", environment) or default_dir("data")


def named(typed: Path | None, option: str, variable: str, environment: Mapping[str, str]) -> Path | None:
    """Return the path that was typed as an option, or else stands in a variable, as an absolute path; None without one."""
    if typed is not None:
        return whole(typed, option)
    path = environment.get(variable)
    return whole(Path(path), variable) if path else None


def whole(path: Path, where: str) -> Path:
    """Return a path that the user gave as an absolute path, or raise a `SettingsError` that says `where` it was given."""
    try:
        return path.expanduser().absolute()
    except RuntimeError as error:
        raise SettingsError("the path begins with ~, but no home folder is known", where, "write it whole") from error


def shipped(name: str) -> Path:
    """Return the path of a file in the repository's folder `config/`: from the installed package, else from the checkout."""
    return next(path for path in (_PACKAGE / "config", _PACKAGE.parent / "config") if path.is_dir()) / name


def ensure_private_dir(path: Path) -> None:
    """Create a folder that only this user can read, or check that an existing folder is safe to write in."""
    try:
        for missing in reversed([folder for folder in (path, *path.parents) if not folder.exists()]):
            missing.mkdir(mode=0o700, exist_ok=True)
        status = path.stat()
        what = ""
        if not stat.S_ISDIR(status.st_mode):
            what = "not a folder"
        elif status.st_uid != os.geteuid():
            what = f"the folder belongs to another user (uid {status.st_uid})"
        elif status.st_mode & stat.S_ISVTX:
            what = "the folder is shared by all users"
        if what:
            raise SettingsError(what, str(path), "give a folder of your own")
        # Whoever can replace the database's files can read what is written to them; otherwise the mode stays as it is.
        if status.st_mode & 0o022:
            path.chmod(0o700)
    except OSError as error:
        raise SettingsError(f"the folder cannot be used: {error.strerror}", str(path), "give another path") from error
