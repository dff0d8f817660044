"""Answers requests: the path chooses a wire, the rules make a plan, and the wire sends it at the pace of a model."""

from __future__ import annotations

import time
import zlib
from dataclasses import replace
from urllib.parse import unquote

import anyio

from tui_host.demo.model.http_connection import Exchange, Request
from tui_host.demo.model.json_values import json_line
from tui_host.demo.model.listings import Listing, listing
from tui_host.demo.model.plan import Plan, pieces, stopped
from tui_host.demo.model.protocols.respond import respond
from tui_host.demo.model.wires import gemini_wire
from tui_host.demo.model.wires.anthropic_wire import ANTHROPIC
from tui_host.demo.model.wires.gemini_wire import GEMINI
from tui_host.demo.model.wires.ollama_wire import OLLAMA
from tui_host.demo.model.wires.openai_wire import OPENAI
from tui_host.demo.model.wires.responses_wire import RESPONSES
from tui_host.demo.model.wires.wire import ChatRequest, RequestRefused, ResponseWriter, Wire, unknown_model

_CHATS: dict[str, Wire] = {
    "/v1/chat/completions": OPENAI,
    "/v1/responses": RESPONSES,
    "/v1/messages": ANTHROPIC,
    "/api/chat": OLLAMA,
}
"""The wires whose path is fixed, by path."""
_FIRST_DELAY_SECONDS = 0.12
"""Seconds before the first piece, at a pace of 1."""
_PIECE_DELAY_SECONDS = 0.005
"""Seconds between two pieces: 500 words take some three and a half seconds."""
_LONGEST_DELAY_SECONDS = 2.0
"""Longest wait for an answer that is not streamed, in seconds."""
_REMEMBERED_CONVERSATIONS = 10_000
"""Number of conversations to remember in which an error came once."""

_GREETING = (
    b"The demo model of tui-host: it follows rules and is no AI. It speaks at "
    b"/v1/chat/completions, /v1/responses, /v1/messages, /v1beta/models/gemini:generateContent and /api/chat.\n"
)
_PAGE = b"<!doctype html><title>Sign in</title><h1>Sign in to this network</h1><p>The demo model was asked for this page.</p>\n"
_BROKEN = "The server had an error in mid-stream. (The demo model was asked for it.)"
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


class DemoModel:
    """The service that answers the requests of all connections.

    Attributes:
        pace: Factor for all delays; 0 for no delay.
    """

    def __init__(self, *, pace: float = 1.0) -> None:
        self.pace = pace
        self._refused: dict[int, None] = {}
        self._answers = 0

    async def handle(self, exchange: Exchange) -> None:
        """Answer a request."""
        request = exchange.request
        if not _is_local(request.headers.get("host", "")):
            await self._refuse(exchange, 403, "This server answers to names of the loopback interface only.")
            return
        wire = _wire(request)
        listed = listing(request) if wire is None else None
        form = wire or (listed.wire if listed else None)
        if wire is not None and request.method == "POST":
            await self._chat(exchange, wire)
        elif wire is not None:
            await self._refuse(exchange, 405, f"{request.path} takes POST.", form)
        elif listed is not None and request.method.replace("HEAD", "GET") == listed.method:
            await self._list(exchange, listed)
        elif request.method in {"GET", "HEAD"} and request.path == "/":
            await exchange.reply(200, "text/plain; charset=utf-8", _GREETING)
        else:
            await self._refuse(exchange, 404, f"Unknown request URL: {request.method} {request.path[:200]}.", form)

    async def _refuse(self, exchange: Exchange, status: int, reason: str, wire: Wire | None = None) -> None:
        """Answer with an error in a vendor's form; in OpenAI's form if the API is unknown."""
        body = json_line((wire or OPENAI).error(RequestRefused(status=status, message=reason), ""))
        await exchange.reply(status, "application/json", body)

    async def _list(self, exchange: Exchange, listed: Listing) -> None:
        try:
            body = json_line(listed.body(exchange.request))
        except RequestRefused as refused:
            await exchange.reply(refused.status, "application/json", json_line(listed.wire.error(refused, "")))
            return
        await exchange.reply(200, "application/json", body)

    async def _chat(self, exchange: Exchange, wire: Wire) -> None:
        request = exchange.request
        self._answers += 1
        identity = f"{zlib.crc32(request.body):08x}{self._answers:06x}"
        if wire.request_id_header:
            exchange.headers.append((wire.request_id_header, f"req_{identity}"))
        try:
            chat = wire.read(request)
            if chat.model != wire.model:
                raise unknown_model(chat.model, wire.model)
            plan = self._past_errors(respond(chat.conversation), hash(chat.conversation.messages))
        except RequestRefused as refused:
            if wire.request_id_header and refused.status == 429:
                exchange.headers.append(("retry-after", "1"))
            await exchange.reply(refused.status, "application/json", json_line(wire.error(refused, identity)))
            return
        plan = stopped(plan, chat.stops)
        writer = wire.writer(chat, identity, int(time.time()))
        trouble = plan.trouble.kind if plan.trouble else ""
        if trouble == "html":
            await exchange.reply(200, "text/html; charset=utf-8", _PAGE)
        elif trouble == "hang":
            await exchange.begin(200, writer.stream_type if chat.is_streamed else "application/json")
            await exchange.wait_for_the_end()
        elif chat.is_streamed:
            await self._stream(exchange, plan, chat, writer)
        elif trouble == "error":
            await exchange.reply(500, "application/json", json_line(wire.error(RequestRefused(status=500), "")))
        elif trouble == "cut":
            await exchange.begin(200, "application/json", size=1_000)
            await exchange.write(b'{"id":')
            await exchange.cut()
        else:
            await self._whole(exchange, plan, chat, writer)

    def _past_errors(self, plan: Plan, conversation: int) -> Plan:
        """Return the plan, without a `once` error that was already sent. Raises `RequestRefused` for other errors."""
        if not plan.trouble or plan.trouble.kind != "status":
            return plan
        if plan.trouble.once:
            if conversation in self._refused:
                return replace(plan, trouble=None)
            if len(self._refused) >= _REMEMBERED_CONVERSATIONS:
                del self._refused[next(iter(self._refused))]
            self._refused[conversation] = None
        raise RequestRefused(status=plan.trouble.status)

    async def _stream(self, exchange: Exchange, plan: Plan, chat: ChatRequest, writer: ResponseWriter) -> None:
        exchange.headers.append(("cache-control", "no-cache"))
        await exchange.begin(200, writer.stream_type)
        due = anyio.current_time() + self.pace * _FIRST_DELAY_SECONDS
        await anyio.sleep_until(due)
        await exchange.write(writer.begin())
        sent, ended = pieces(plan, chat.most_tokens)
        for piece in sent:
            # Measured by the clock and not delay by delay, so that the pace is kept on a busy machine too.
            due += self.pace * _PIECE_DELAY_SECONDS
            await anyio.sleep_until(due)
            await exchange.write(writer.piece(piece))
        if not plan.trouble:
            await exchange.write(writer.end(ended))
        elif plan.trouble.kind == "error":
            await exchange.write(writer.failure(_BROKEN))
        else:
            await exchange.cut()
        await exchange.end()

    async def _whole(self, exchange: Exchange, plan: Plan, chat: ChatRequest, writer: ResponseWriter) -> None:
        sent, ended = pieces(plan, chat.most_tokens)
        delay = min(_LONGEST_DELAY_SECONDS, _FIRST_DELAY_SECONDS + len(sent) * _PIECE_DELAY_SECONDS)
        await anyio.sleep(delay * self.pace)
        await exchange.reply(200, "application/json", json_line(writer.whole(sent, ended)))


def _wire(request: Request) -> Wire | None:
    match = gemini_wire.PATH.fullmatch(unquote(request.path))
    if match is not None:
        return GEMINI if match[2] in {"generateContent", "streamGenerateContent"} else None
    return _CHATS.get(request.path)


def _is_local(host: str) -> bool:
    """Return whether a Host header names the loopback interface. A web page's own name for it does not count."""
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
    return not host or name in _LOOPBACK
