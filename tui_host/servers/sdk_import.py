"""Imports the client half of the SDK alone. Must run before the SDK's first import.

Importing anything from `mcp.client` first runs the `__init__` of `mcp` and `mcp.client`, which import the SDK's server half with
starlette, uvicorn and cryptography: 15 MiB, and a third of the import time. A host uses none of these.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec, module_from_spec
from threading import RLock
from types import ModuleType

from typing_extensions import override

PACKAGES = ("mcp", "mcp.client")
_running = RLock()
_begun: set[str] = set()


class _PutOff(ModuleType):
    """A package whose `__init__` runs only when an attribute is missing after the import of its submodules."""

    @override
    def __getattr__(self, name: str) -> object:
        is_asked_by_tools = name.startswith("__") and name != "__all__"  # such as `inspect`
        if is_asked_by_tools or not _run(self):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return getattr(self, name)


def _run(package: ModuleType) -> bool:
    """Run the deferred `__init__` of a package; False if it has run before, or is running."""
    with _running:
        spec = package.__spec__
        if package.__name__ in _begun or spec is None or spec.loader is None:
            return False
        _begun.add(package.__name__)
        spec.loader.exec_module(package)
        return True


def put_off() -> None:
    """Let submodules of the SDK be imported without running the packages' `__init__`. Call before the first such import."""
    for name in PACKAGES:
        spec = None if name in sys.modules else find_spec(name)
        if spec is None:
            continue
        package = module_from_spec(spec)
        package.__class__ = _PutOff
        sys.modules[name] = package
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], child, package)
