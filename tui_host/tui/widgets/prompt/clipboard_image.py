"""Reads the image in the desktop's clipboard, which no terminal hands over, by the desktop's own tool.

The tool knows nothing of a clipboard at the other end of an ssh connection.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys

from tui_host.capture.visible import line
from tui_host.errors import TuiHostError

_PATIENCE = 3
"""Seconds until the clipboard's owner, another program, must have given its image."""
_TYPES = ("image/png", "image/jpeg", "image/webp", "image/gif")


def image_in_clipboard() -> bytes:
    """Return the image in the desktop's clipboard. Blocks. Raises TuiHostError with why there is none."""
    if sys.platform == "darwin":  # pbpaste gives texts alone; this prints «data PNGf89504E…», in hexadecimal
        shown = _printed("osascript", "-e", "get the clipboard as «class PNGf»")
        return bytes.fromhex(re.sub(rb"[^0-9A-F]", b"", shown.partition(b"PNGf")[2]).decode())
    if os.environ.get("WAYLAND_DISPLAY"):
        types, read = ("wl-paste", "--list-types"), ("wl-paste", "--no-newline", "--type")
    elif os.environ.get("DISPLAY"):
        read = ("xclip", "-selection", "clipboard", "-o", "-t")
        types = (*read, "TARGETS")
    else:
        raise TuiHostError("no desktop's clipboard is reached from here", remedy="save the image, and attach it by @")
    offered = _printed(*types).decode(errors="replace").split()
    chosen = next((media_type for media_type in _TYPES if media_type in offered), "")
    if not chosen:
        others = [line(name, 40) for name in offered if name.startswith("image/")]
        what = f"only {others[0]}, not PNG, JPEG, WebP or GIF" if others else "no image"
        raise TuiHostError(f"the clipboard has {what}", remedy="copy one, or attach a file by @")
    return _printed(*read, chosen)


def _printed(*command: str) -> bytes:
    try:
        ran = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PATIENCE, check=True)  # noqa: S603 - the desktop's own tool
    except FileNotFoundError as error:
        what = f"{command[0]}, which reads the clipboard, is not installed"
        raise TuiHostError(what, remedy="install it, or attach a file by @") from error
    except subprocess.TimeoutExpired as error:
        raise TuiHostError(f"the clipboard's owner did not answer within {_PATIENCE} s", command[0]) from error
    except (OSError, subprocess.CalledProcessError) as error:
        raise TuiHostError("the clipboard has no image", remedy="copy one, or attach a file by @") from error
    return ran.stdout
