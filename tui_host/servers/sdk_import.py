"""Imports the client half of the SDK alone.

Whatever is imported of `mcp.client`, the `__init__` of `mcp` and of `mcp.client` run first, and they import the SDK's server half with
starlette, uvicorn and cryptography: 15 MiB, and a third of the time that the whole import takes. A host uses none of it.
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
    """A package whose `__init__` runs when something is asked of it that no import of a submodule has put there.

    So whoever imports from the package itself, a later release of the SDK too, finds what it always found.
    """

    @override
    def __getattr__(self, name: str) -> object:
        is_asked_by_tools = name.startswith("__") and name != "__all__"  # such as `inspect`, of every module
        if is_asked_by_tools or not _run(self):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return getattr(self, name)


def _run(package: ModuleType) -> bool:
    """Run the `__init__` of a package that was put off; False if it has been run, or runs, already."""
    with _running:
        spec = package.__spec__
        if package.__name__ in _begun or spec is None or spec.loader is None:
            return False
        _begun.add(package.__name__)
        spec.loader.exec_module(package)
        return True


def put_off() -> None:
    """Let submodules of the SDK's packages be imported without what is imported beside them. Call it before any of them is."""
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
