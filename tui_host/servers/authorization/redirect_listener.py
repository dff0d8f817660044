"""Waits on 127.0.0.1 for the browser's return from an authorization server. Source: RFC 8252, section 7.3."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import parse_qsl, urlsplit

from tui_host.errors import ServerError

HOST, PATH = "127.0.0.1", "/callback"
HEAD_LIMIT, HEAD_SECONDS = 16 << 10, 10.0  # any program on this machine may connect
_PAGE = "<!doctype html><meta charset=utf-8><title>tui-host</title><p>%s You may close this page."
_SENT = ("code", "error")
_ANSWER = "HTTP/1.1 %s\r\nContent-Type: text/html\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s"


class RedirectListener:
    """A port that the browser returns to; 0 for any free one. Raises OSError if it is in use."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_server((HOST, port))
        self.url = f"http://{HOST}:{self.socket.getsockname()[1]}{PATH}"

    async def returned(self, state: str) -> str:
        """Wait for the browser with this login's state; returns the address to which it was sent."""
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                async with asyncio.timeout(HEAD_SECONDS):
                    head = await reader.readuntil(b"\r\n\r\n")
                url = f"http://{HOST}{head.decode('latin-1').partition(' ')[2].partition(' ')[0]}"
                given = parameters(url)
                has_answer = not given.keys().isdisjoint(_SENT)
                is_ours = urlsplit(url).path == PATH and given.get("state") == state and has_answer
                page = _PAGE % ("The login has returned to tui-host." if is_ours else "This is no answer to a login.")
                writer.write((_ANSWER % ("200 OK" if is_ours else "404 Not Found", len(page), page)).encode())
                await writer.drain()
                if is_ours and not answer.done():
                    answer.set_result(url)
            writer.close()

        server = await asyncio.start_server(serve, sock=self.socket, limit=HEAD_LIMIT, start_serving=False)
        try:
            await server.start_serving()  # cancelled here, the loop would go on to look at the socket's number
            return await answer
        finally:
            server.close()


def parameters(url: str) -> Mapping[str, str]:
    """Return the parameters of an address; raises ServerError if the text is none."""
    try:
        return dict(parse_qsl(urlsplit(url.strip()).query))
    except ValueError:
        raise ServerError("the pasted text is no address") from None
