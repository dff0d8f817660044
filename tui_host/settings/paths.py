"""Where things lie: the person's configuration, the data, and the files that come with the program.

A tap asks for the data folder in a moment in which a host waits: nothing is imported here that most answers can do without.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path

APP = "tui-host"
CONFIG_FILE = "config.toml"
DATABASE = "tui-host.db"
"""In the data folder."""


def default_config_dir() -> Path:
    """The platform's user configuration folder for this program; it need not exist.

    Raises:
        SettingsError: There is no home folder to look in; the working directory never stands in for it.
    """
    import platformdirs

    return _absolute(lambda: platformdirs.user_config_path(APP, appauthor=False), "--config FILE")


def default_data_dir() -> Path:
    """The platform's user data folder for this program; it need not exist.

    Raises:
        SettingsError: There is no home folder to look in; the working directory never stands in for it.
    """
    import platformdirs

    return _absolute(lambda: platformdirs.user_data_path(APP, appauthor=False), "--data-dir DIR")


def data_dir(typed: Path | None, environment: Mapping[str, str]) -> Path:
    """Where the database is: what was typed, else what the environment names, else the platform's place.

    Args:
        typed: `--data-dir DIR`.
        environment: The process's.

    Raises:
        SettingsError: It is no path, or there is no home folder to look in.
    """
    if typed is not None:
        return whole(typed, "--data-dir")
    named = environment.get("TUI_HOST_DATA_DIR", "")
    return whole(Path(named), "TUI_HOST_DATA_DIR") if named else default_data_dir()


def whole(path: Path, where: str) -> Path:
    """A path that a person wrote, from the root on.

    Args:
        path: As it was written.
        where: Where it was.

    Raises:
        SettingsError: It is no path, or names a home folder that is not known.
    """
    if "\0" in str(path):
        from tui_host.errors import SettingsError

        raise SettingsError("a NUL character in the path", where, "name another one")
    try:
        return path.expanduser().absolute()
    except RuntimeError as error:
        from tui_host.errors import SettingsError
        from tui_host.settings.mistakes import shown

        raise SettingsError(f"no home folder for {shown(str(path))}", where, "write the whole path") from error


def shipped(name: str) -> Path:
    """A file of the repository's `config/`: inside the package when installed, else in the checkout.

    Args:
        name: Its file name, such as `default.toml`.
    """
    package = Path(__file__).resolve().parent.parent
    installed = package / "config"
    return (installed if installed.is_dir() else package.parent / "config") / name


def documents() -> Path:
    """The folder of the documents that come with the program."""
    return Path(__file__).resolve().parent.parent / "docs"


def ensure_private_dir(path: Path) -> None:
    """Make a folder that this user alone can enter, or see that an existing one is safe to write in.

    A folder that is there keeps its mode, save that others may no longer write in it: who can replace the database's
    files can read what comes into them. Blocks on the disk.

    Raises:
        SettingsError: It belongs to another user, is shared by all of them, is no folder, or cannot be made.
    """
    from tui_host.errors import SettingsError

    try:
        for missing in reversed([folder for folder in (path, *path.parents) if not folder.exists()]):
            missing.mkdir(mode=0o700, exist_ok=True)
        found = path.stat()
        if not stat.S_ISDIR(found.st_mode):
            raise SettingsError("not a folder", str(path), "name another one, or move the file away")
        if found.st_uid != os.geteuid():
            raise SettingsError(
                f"the folder belongs to another user (number {found.st_uid})", str(path), "name a folder of your own"
            )
        if found.st_mode & stat.S_ISVTX:
            raise SettingsError("the folder is shared by all users", str(path), "name a folder of your own inside it")
        if found.st_mode & 0o022:
            path.chmod(0o700)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise SettingsError(f"the folder cannot be used: {reason}", str(path), "name another one") from error


def _absolute(find: Callable[[], Path], option: str) -> Path:
    try:
        found = find()
    except RuntimeError:
        found = Path()
    if not found.is_absolute():
        from tui_host.errors import SettingsError

        raise SettingsError("no home folder is known", "HOME", f"set HOME to an absolute path, or give {option}")
    return found
