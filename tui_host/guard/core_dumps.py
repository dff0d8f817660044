"""No crash writes our memory to a disk: secrets and whole conversations are in it (SEC-12)."""

from __future__ import annotations


def leave_no_core() -> None:
    """From now on, for this process and what it starts."""
    try:
        import resource
    except ImportError:  # a platform without such limits
        return
    _, most = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, most))
