"""Imports the client half of the SDK alone. Must run before the SDK's first import.

Importing anything from `mcp.client` first runs the `__init__` of `mcp` and `mcp.client`, which import the SDK's server half with
starlette, uvicorn and cryptography: 15 MiB, and a third of the import time. A host uses none of these.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from threading import RLock
from types import ModuleType

from typing_extensions import override

_running = RLock()


class _PutOff(ModuleType):
    """A package whose `__init__` runs only when an attribute is missing after the import of its submodules."""

    @override
    def __getattr__(self, name: str) -> object:
        is_asked_by_tools = name.startswith("__") and name != "__all__"  # such as `inspect`
        with _running:
            if is_asked_by_tools or self.__spec__ is None or self.__spec__.loader is None:
                raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
            object.__setattr__(self, "__class__", ModuleType)  # what is missing now is missing for good
            self.__spec__.loader.exec_module(self)
        return getattr(self, name)


def import_sdk() -> None:
    """Import connections with the SDK's client half, which takes some time, without running the packages' `__init__`."""
    for name in ("mcp", "mcp.client"):
        spec = None if name in sys.modules else find_spec(name)
        if spec is not None:
            package = sys.modules[name] = module_from_spec(spec)
            package.__class__ = _PutOff
            parent, _, child = name.rpartition(".")
            if parent:
                setattr(sys.modules[parent], child, package)
    import_module("tui_host.servers.connection")
