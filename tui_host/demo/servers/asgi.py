"""Runs an ASGI application under uvicorn until it is cancelled."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Generator

import uvicorn
from starlette.applications import Starlette
from typing_extensions import override


class _WithoutSignals(uvicorn.Server):
    """Leaves signals to the program: uvicorn would end the process by the signal, not with exit code 0."""

    @override
    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


async def serve_asgi(application: Starlette, listening: socket.socket) -> None:
    """Serve on a listening socket until cancelled. Open streams end then."""
    config = uvicorn.Config(application, log_level="critical", access_log=False, ws="none", loop="asyncio", http="h11")
    await _WithoutSignals(config).serve(sockets=[listening])
