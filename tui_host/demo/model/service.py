"""Answers requests: from a route to a wire, from the wire to the brain, and back at the pace of a model."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable
from dataclasses import replace
from urllib.parse import unquote

import anyio

from tui_host.demo.model.http_connection import MOST_BODY, Exchange, Request
from tui_host.demo.model.listings import Listing, listing
from tui_host.demo.model.plan import Breakage, Ended, Piece, Plan, Refusal, pieces, stopped
from tui_host.demo.model.protocols.respond import respond
from tui_host.demo.model.wires.anthropic_wire import AnthropicWire
from tui_host.demo.model.wires.gemini_wire import PATH as GEMINI_PATH
from tui_host.demo.model.wires.gemini_wire import GeminiWire
from tui_host.demo.model.wires.ollama_wire import OllamaWire
from tui_host.demo.model.wires.openai_wire import OpenAIWire
from tui_host.demo.model.wires.responses_wire import ResponsesWire
from tui_host.demo.model.wires.wire import Asked, RequestRefused, ResponseWriter, Wire, json_line, unknown_model

_FIRST_DELAY_SECONDS = 0.12
"""The wait before the first piece, at a pace of 1."""
_PIECE_DELAY_SECONDS = 0.005
"""The wait between two pieces: 500 words take some three and a half seconds."""
_LONGEST_DELAY_SECONDS = 2.0
"""The longest wait for an answer that is not streamed."""
_REMEMBERED_CONVERSATIONS = 10_000
"""How many conversations with an error that comes once are remembered."""

_GREETING = (
    b"The demo model of tui-host: it follows rules and is no AI. It speaks at "
    b"/v1/chat/completions, /v1/responses, /v1/messages, /v1beta/models/gemini:generateContent and /api/chat.\n"
)
_PAGE = b"<!doctype html><title>Sign in</title><h1>Sign in to this network</h1><p>The demo model was asked for this page.</p>\n"
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


class DemoModel:
    """The service behind all connections.

    Attributes:
        pace: Factor on all delays; 0 for none.
    """

    def __init__(self, *, pace: float = 1.0, clock: Callable[[], float] = time.time) -> None:
        self.pace = pace
        self._clock = clock
        self._fallback = OpenAIWire()
        self._gemini = GeminiWire()
        self._chats: dict[str, Wire] = {
            "/v1/chat/completions": self._fallback,
            "/v1/responses": ResponsesWire(),
            "/v1/messages": AnthropicWire(),
            "/api/chat": OllamaWire(),
        }
        self._refused: dict[int, None] = {}
        self._answers = 0

    async def handle(self, exchange: Exchange) -> None:
        """Answer a request."""
        request = exchange.request
        if not _is_local(request.headers.get("host", "")):
            await self.refuse(exchange, 403, "This server answers to names of the loopback interface only.")
            return
        wire = self._wire(request)
        listed = listing(request) if wire is None else None
        form = wire or (listed.wire if listed else None)
        if request.is_too_large:
            await self.refuse(exchange, 413, f"The body is larger than {MOST_BODY:,} bytes.", form)
        elif wire is not None and request.method == "POST":
            await self._chat(exchange, wire)
        elif wire is not None:
            await self.refuse(exchange, 405, f"{request.path} takes POST.", form)
        elif listed is not None and request.method.replace("HEAD", "GET") == listed.method:
            await self._list(exchange, listed)
        elif request.method in {"GET", "HEAD"} and request.path == "/":
            await exchange.reply(200, "text/plain; charset=utf-8", _GREETING)
        else:
            await self.refuse(exchange, 404, f"Unknown request URL: {request.method} {request.path[:200]}.", form)

    async def refuse(self, exchange: Exchange, status: int, reason: str, wire: Wire | None = None) -> None:
        """Answer with an error in a vendor's form, in OpenAI's if no API is known."""
        body = (wire or self._fallback).refusal(RequestRefused(status=status, message=reason))
        await exchange.reply(status, "application/json", body)

    def _wire(self, request: Request) -> Wire | None:
        match = GEMINI_PATH.fullmatch(unquote(request.path))
        if match is not None:
            return self._gemini if match[2] in {"generateContent", "streamGenerateContent"} else None
        return self._chats.get(request.path)

    async def _list(self, exchange: Exchange, listed: Listing) -> None:
        try:
            body = json_line(listed.body(exchange.request))
        except RequestRefused as refused:
            await exchange.reply(refused.status, "application/json", listed.wire.refusal(refused))
            return
        await exchange.reply(200, "application/json", body)

    async def _chat(self, exchange: Exchange, wire: Wire) -> None:
        request = exchange.request
        self._answers += 1
        identity = f"{zlib.crc32(request.body):08x}{self._answers:06x}"
        if wire.request_id_header:
            exchange.headers.append((wire.request_id_header, f"req_{identity}"))
        try:
            asked = wire.read(request)
            if asked.model != wire.model:
                raise unknown_model(asked.model, wire.model)
            plan = self._past_errors(respond(asked.conversation), hash(asked.conversation.messages))
        except RequestRefused as refused:
            if wire.request_id_header and refused.status == 429:
                exchange.headers.append(("retry-after", "1"))
            body = wire.refusal(refused, identity=identity, request=request)
            await exchange.reply(refused.status, "application/json", body)
            return
        plan = stopped(plan, asked.stops)
        writer = wire.writer(asked, identity=identity, created=int(self._clock()))
        if isinstance(plan.trouble, Breakage) and plan.trouble.kind in {"hang", "html"}:
            content_type = writer.stream_type if asked.is_streamed else "application/json"
            await _break_at_once(exchange, plan.trouble, content_type)
        elif asked.is_streamed:
            await self._stream(exchange, plan, asked, writer)
        else:
            await self._whole(exchange, plan, asked, wire, writer)

    def _past_errors(self, plan: Plan, conversation: int) -> Plan:
        """Return the plan, without an error of the kind `once` already sent. Raises `RequestRefused` for any other error."""
        if not isinstance(plan.trouble, Refusal):
            return plan
        if plan.trouble.once:
            if conversation in self._refused:
                return replace(plan, trouble=None)
            if len(self._refused) >= _REMEMBERED_CONVERSATIONS:
                del self._refused[next(iter(self._refused))]
            self._refused[conversation] = None
        raise RequestRefused(status=plan.trouble.status)

    async def _stream(self, exchange: Exchange, plan: Plan, asked: Asked, writer: ResponseWriter) -> None:
        exchange.headers.append(("cache-control", "no-cache"))
        await exchange.begin(200, writer.stream_type)
        due = anyio.current_time() + self.pace * _FIRST_DELAY_SECONDS
        await anyio.sleep_until(due)
        await exchange.write(writer.begin())
        for piece in pieces(plan, asked.most_tokens):
            if isinstance(piece, Ended):
                await self._end_stream(exchange, plan, writer, piece)
                return
            # Against a clock, not one delay after the other: the pace is kept on a busy machine too.
            due += self.pace * _PIECE_DELAY_SECONDS
            await anyio.sleep_until(due)
            await exchange.write(writer.piece(piece))

    async def _end_stream(self, exchange: Exchange, plan: Plan, writer: ResponseWriter, ended: Ended) -> None:
        if isinstance(plan.trouble, Breakage):
            if plan.trouble.kind == "error":
                await exchange.write(
                    writer.failure("The server had an error in mid-stream. (The demo model was asked for it.)")
                )
                await exchange.end()
            else:
                await exchange.cut()
            return
        await exchange.write(writer.end(ended))
        await exchange.end()

    async def _whole(self, exchange: Exchange, plan: Plan, asked: Asked, wire: Wire, writer: ResponseWriter) -> None:
        if isinstance(plan.trouble, Breakage):
            if plan.trouble.kind == "error":
                await exchange.reply(500, "application/json", wire.refusal(RequestRefused(status=500)))
                return
            await exchange.begin(200, "application/json", size=1_000)
            await exchange.write(b'{"id":')
            await exchange.cut()
        sent: list[Piece] = []
        for piece in pieces(plan, asked.most_tokens):
            if isinstance(piece, Ended):
                delay = min(_LONGEST_DELAY_SECONDS, _FIRST_DELAY_SECONDS + len(sent) * _PIECE_DELAY_SECONDS)
                await anyio.sleep(delay * self.pace)
                await exchange.reply(200, "application/json", writer.whole(sent, piece))
            else:
                sent.append(piece)


async def _break_at_once(exchange: Exchange, breakage: Breakage, content_type: str) -> None:
    if breakage.kind == "html":
        await exchange.reply(200, "text/html; charset=utf-8", _PAGE)
        return
    await exchange.begin(200, content_type)
    await exchange.wait_for_the_end()


def _is_local(host: str) -> bool:
    """Tell whether a Host header names the loopback interface; a web page's name leading here does not."""
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
    return not host or name in _LOOPBACK
