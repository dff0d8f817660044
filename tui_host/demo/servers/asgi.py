"""Runs an ASGI application under uvicorn, ended by cancellation and by nothing else."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Generator

import uvicorn
from starlette.applications import Starlette
from typing_extensions import override


class _WithoutSignals(uvicorn.Server):
    """Leaves the signals to the program: uvicorn's own way ends with the signal instead of 0."""

    @override
    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


async def serve_asgi(application: Starlette, listening: socket.socket) -> None:
    """Serve on a listening socket until cancelled; open streams end then."""
    config = uvicorn.Config(application, log_level="critical", access_log=False, ws="none", loop="asyncio", http="h11")
    await _WithoutSignals(config).serve(sockets=[listening])
