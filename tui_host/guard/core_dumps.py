"""Disables core dumps: memory holds secrets and whole conversations."""

from __future__ import annotations


def leave_no_core() -> None:
    """Disable core dumps for this process and its children."""
    try:
        import resource
    except ImportError:  # a platform without such limits
        return
    _, most = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, most))
