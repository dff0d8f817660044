"""Names of sessions and captures that were brought here from another database, where they may be taken.

They keep their names where these are free. Where they are not, a mark and a number follow here, which no export has: what was
imported is exported again line for line.
"""

from __future__ import annotations

_MARK = "~"


def local_name(name: str, number: int) -> str:
    """The name that is tried as the first, second, … one for something from elsewhere."""
    return name if number == 1 else f"{name}{_MARK}{number}"


def own_name(name: str) -> str:
    """What it is called where it was made."""
    return name.partition(_MARK)[0]
