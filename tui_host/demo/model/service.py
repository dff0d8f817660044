"""Answers requests: the path chooses a wire, the rules make a plan, and the wire sends it at the pace of a model."""

from __future__ import annotations

import time
import zlib
from collections.abc import AsyncGenerator, Mapping
from urllib.parse import unquote

import anyio
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from tui_host.demo.model.json_values import json_line
from tui_host.demo.model.plan import Plan, in_pieces
from tui_host.demo.model.prompts.respond import respond
from tui_host.demo.model.wires.anthropic import ANTHROPIC
from tui_host.demo.model.wires.gemini import GEMINI, GEMINI_PATH
from tui_host.demo.model.wires.ollama import OLLAMA
from tui_host.demo.model.wires.openai import OPENAI
from tui_host.demo.model.wires.openai_responses import RESPONSES
from tui_host.demo.model.wires.wire import ChatRequest, ModelAnswer, RequestRefused, VendorWire
from tui_host.errors import JSON

_CHATS = {"/v1/chat/completions": OPENAI, "/v1/responses": RESPONSES, "/v1/messages": ANTHROPIC, "/api/chat": OLLAMA}
"""The wires whose path is fixed, by path."""
# Three vendors list their models at /v1/models: each client reads the member that it knows.
_GEMINIS: JSON = [{"name": f"models/{GEMINI.model}"}]
_LISTED: list[JSON] = [
    {"id": wire.model, "object": "model", "type": "model"} for wire in (OPENAI, RESPONSES, ANTHROPIC)
]
_MODELS: dict[str, JSON] = {
    "/v1/models": {"object": "list", "data": _LISTED, "has_more": False, "models": _GEMINIS},
    "/v1beta/models": {"models": _GEMINIS},
    "/api/tags": {"models": [{"name": OLLAMA.model, "model": OLLAMA.model}]},
}
_FIRST_PAUSE_SECONDS, _PIECE_PAUSE_SECONDS = 0.12, 0.005
"""Pauses at a pace of 1: 500 words take some three and a half seconds."""
_LONGEST_PAUSE_SECONDS = 2.0
"""Longest wait for an answer that is not streamed."""
_PIECES_BEFORE_TROUBLE = 20
_ASKED = "(The demo model was asked for it.)"


class BrokenOff(Exception):  # noqa: N818 - asked for, and not an error
    """Raised in mid-answer: the server then closes the connection."""


class DemoModel:
    """The ASGI application that answers the requests of all connections. `pace` is a factor for all pauses."""

    def __init__(self, *, pace: float = 1.0) -> None:
        self._pace = pace
        self._refused: set[int] = set()
        self._answers = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        path, method = request.url.path, request.method
        wire = GEMINI if GEMINI_PATH.fullmatch(unquote(path)) else _CHATS.get(path)
        if request.url.hostname not in {"127.0.0.1", "localhost", "::1", None}:
            # A web page could reach this server under a name of its own.
            response = _refused(403, "This server answers to names of the loopback interface only.")
        elif wire is not None and method == "POST":
            response = await self._chat(wire, path, await request.body())
        elif path in _MODELS and method == "GET":
            response = Response(json_line(_MODELS[path]), media_type="application/json")
        else:
            response = _refused(404, f"Unknown request URL: {method} {path[:200]}.")
        await response(scope, receive, send)

    async def _chat(self, wire: VendorWire, path: str, body: bytes) -> Response:
        self._answers += 1
        identity = f"{zlib.crc32(body):08x}{self._answers:06x}"
        headers = {wire.request_id_header: f"req_{identity}"} if wire.request_id_header else {}
        try:
            chat = wire.read(path, body)
            plan = self._plan(wire, chat)
        except RequestRefused as refused:
            if wire.request_id_header and refused.status == 429:
                headers["retry-after"] = "1"
            return _refused(refused.status, refused.message, wire, headers, identity)
        pieces = in_pieces(plan, chat.most_tokens)
        answer = ModelAnswer(
            chat=chat, pieces=pieces, identity=identity, created=int(time.time()), prompt_tokens=len(body) // 4
        )
        if chat.is_streamed or plan.trouble:
            return StreamingResponse(
                self._stream(wire, answer, plan.trouble), headers=headers, media_type=wire.stream_type
            )
        pause = min(_LONGEST_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS + answer.pieces.tokens * _PIECE_PAUSE_SECONDS)
        await anyio.sleep(pause * self._pace)
        return Response(json_line(wire.whole(answer)), headers=headers, media_type="application/json")

    def _plan(self, wire: VendorWire, chat: ChatRequest) -> Plan:
        """Plan the answer. Raises `RequestRefused` for another model and for HTTP errors that the user asked for."""
        if chat.model != wire.model:
            message = f'The model "{chat.model[:100]}" was not found: there is only "{wire.model}" here.'
            raise RequestRefused(status=404, message=message)
        plan, conversation = respond(chat.conversation), hash(chat.conversation.messages)
        if not plan.status or (plan.once and conversation in self._refused):
            return plan
        self._refused.add(conversation)
        raise RequestRefused(status=plan.status, message=f"Error {plan.status}. {_ASKED}")

    async def _stream(self, wire: VendorWire, answer: ModelAnswer, trouble: str) -> AsyncGenerator[bytes]:
        if trouble == "hang":
            await anyio.sleep_forever()
        due = anyio.current_time() + self._pace * _FIRST_PAUSE_SECONDS
        for count, piece in enumerate(wire.stream(answer)):
            if trouble and count == _PIECES_BEFORE_TROUBLE:
                break
            # Measured by the clock and not pause by pause, so that the pace is kept on a busy machine too.
            await anyio.sleep_until(due)
            yield piece
            due += self._pace * _PIECE_PAUSE_SECONDS
        if trouble == "stream":
            yield wire.failure(f"The server had an error in mid-stream. {_ASKED}")
        elif trouble:
            raise BrokenOff


def _refused(
    status: int, reason: str, wire: VendorWire = OPENAI, headers: Mapping[str, str] | None = None, identity: str = ""
) -> Response:
    body = json_line(wire.error(RequestRefused(status=status, message=reason), identity))
    return Response(body, status, headers, "application/json")
