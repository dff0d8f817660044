"""Gemini's generateContent."""

from __future__ import annotations

from dataclasses import replace

from tests.llm.recorded.case import NOW, TEXT, THOUGHT, TIME, WEATHER, Case, Recorded
from tests.llm.recorded.wire import event, text
from tui_host.errors import JSON
from tui_host.llm.messages import Stop, Usage

SIGNATURES = ("c2lnLTE=", "c2lnLTI=", "c2lnLTM=")
COUNTED: JSON = {
    "promptTokenCount": 100,
    "cachedContentTokenCount": 64,
    "toolUsePromptTokenCount": 20,
    "candidatesTokenCount": 32,
    "thoughtsTokenCount": 16,
    "totalTokenCount": 168,
}
USED = Usage(input_total=120, input_cached=64, output_total=48, reasoning=16)
FIRST = Usage(input_total=100)


def value(*parts: str, finish: str = "", usage: JSON = None, **more: JSON) -> bytes:
    """A chunk; its parts are JSON already, for arguments are what the model wrote."""
    candidate = ['"content": {{"parts": [{}], "role": "model"}}'.format(", ".join(parts))] if parts else []
    candidate += [f'"finishReason": "{finish}"'] if finish else []
    candidate += [f'"{name}": {text(each).decode()}' for name, each in more.items()]
    told = "" if usage is None else f'"usageMetadata": {text(usage).decode()}, '
    joined = ", ".join((*candidate, '"index": 0'))
    return f'{{"candidates": [{{{joined}}}], {told}"modelVersion": "m", "responseId": "g1"}}'.encode()


def chunk(*parts: str, finish: str = "", usage: JSON = None, **more: JSON) -> bytes:
    return b"data: " + value(*parts, finish=finish, usage=usage, **more) + b"\n\n"


def part(said: str, **more: JSON) -> str:
    return text({"text": said, **more}).decode()


def call(asked: tuple[str, str], wire_id: str = "", signature: str = "") -> str:
    name = f'"id": "{wire_id}", "name": "{asked[0]}"' if wire_id else f'"name": "{asked[0]}"'
    arguments = f', "args": {asked[1]}' if asked[1] else ""
    beside = f', "thoughtSignature": "{signature}"' if signature else ""
    return f'{{"functionCall": {{{name}{arguments}}}{beside}}}'


REFUSALS = ("SAFETY", "RECITATION", "IMAGE_SAFETY", "MODEL_ARMOR", "OTHER")
SAID = chunk(part(TEXT[:7])) + chunk(part(TEXT[7:]))


def ended(finish: str, stop: Stop = "end", *, vendor: str = "", **more: JSON) -> Case:
    body = SAID + chunk(part(""), finish=finish, **more)
    return Case(body=body, text=TEXT, stop=stop, vendor=vendor or finish)


def asking(
    *chunks: bytes, ids: tuple[str, ...] = ("", ""), said: str = "", stop: Stop = "tools", finish: str = "STOP"
) -> Case:
    body = b"".join(chunks)
    return Case(body=body, text=said, calls=(WEATHER, TIME)[: len(ids)], ids=ids, stop=stop, vendor=finish)


def refused(reason: str) -> Case:
    feedback: JSON = {"promptFeedback": {"blockReason": reason}, "usageMetadata": {"promptTokenCount": 100}}
    return Case(body=event(feedback), stop="refused", vendor=reason, usage=FIRST)


WHOLE = value(part(TEXT), call(WEATHER), call(TIME), finish="STOP", usage=COUNTED)
LISTED = (
    b"[" + value(part(TEXT), usage=COUNTED) + b"\n,\r\n" + value(call(WEATHER), call(TIME), finish="STOP") + b"\n]\n"
)
PRETTY_ERROR = b'{\n  "error": {\n    "code": 500,\n    "message": "it broke",\n    "status": "INTERNAL"\n  }\n}\n'

RECORDED = Recorded(
    dialect="gemini",
    text=ended("STOP"),
    tools=asking(SAID, chunk(call(WEATHER)), chunk(part(""), finish="STOP"), ids=("",), said=TEXT),
    parallel=asking(chunk(call(WEATHER, signature=SIGNATURES[0]), call(TIME)), chunk(finish="STOP")),
    thinking=replace(
        asking(
            chunk(part(THOUGHT[:5], thought=True)),
            chunk(part(THOUGHT[5:], thought=True)),
            chunk(part(TEXT[:7])),
            chunk(part(TEXT[7:], thoughtSignature=SIGNATURES[0])),
            chunk(call(WEATHER, signature=SIGNATURES[1])),
            chunk(part("", thoughtSignature=SIGNATURES[2]), finish="STOP"),
            ids=("",),
            said=TEXT,
        ),
        thinking=THOUGHT,
        echoes=(
            b'{"text":' + text(TEXT[7:]) + b',"thoughtSignature":"c2lnLTE="}',
            b'"args":{"city":"Paris"}},"thoughtSignature":"c2lnLTI="}',
            b'{"text":"","thoughtSignature":"c2lnLTM="}',
        ),
    ),
    usage=Case(
        body=chunk(part(TEXT), usage={"promptTokenCount": 100}) + chunk(part(""), finish="STOP", usage=COUNTED),
        text=TEXT,
        vendor="STOP",
        usage=USED,
    ),
    failing=Case(
        body=SAID + event({"error": {"code": 503, "message": "it broke", "status": "UNAVAILABLE"}}),
        text=TEXT,
        stop="failed",
        failure="it broke",
    ),
    cut=Case(body=SAID, text=TEXT, stop="cut"),
    nothing=replace(asking(chunk(call((NOW[0], ""))), chunk(finish="STOP"), ids=("",)), calls=((NOW[0], ""),)),
    whole=Case(body=WHOLE, text=TEXT, calls=(WEATHER, TIME), ids=("", ""), stop="tools", vendor="STOP", usage=USED),
    ends={
        "MAX_TOKENS": ended("MAX_TOKENS", "length"),
        **{word: ended(word, "refused") for word in REFUSALS},
        "CONTINUATION": ended("CONTINUATION", "paused"),
        "MALFORMED_FUNCTION_CALL": ended(
            "MALFORMED_FUNCTION_CALL",
            "bad call",
            vendor="MALFORMED_FUNCTION_CALL: print(now(",
            finishMessage="print(now(",
        ),
        "UNEXPECTED_TOOL_CALL": ended("UNEXPECTED_TOOL_CALL", "bad call"),
        "a word of tomorrow": ended("TIRED"),
        "a prompt that is blocked": refused("PROHIBITED_CONTENT"),
        "[DONE] alone": Case(body=SAID + b"data: [DONE]\n\n", text=TEXT, vendor="[DONE]"),
    },
    odd={
        "with ids": asking(chunk(call(WEATHER, "a")), chunk(call(TIME, "b"), finish="STOP"), ids=("a", "b")),
        "one id for both": asking(chunk(call(WEATHER, "a")), chunk(call(TIME, "a"), finish="STOP"), ids=("a", "a")),
        "text, calls and the end in one": asking(
            chunk(part(TEXT), call(WEATHER), call(TIME), finish="STOP"), said=TEXT
        ),
        "parts of other kinds": asking(
            chunk(
                '{"executableCode": {"language": "PYTHON", "code": "1"}}', part(TEXT), '{"inlineData": {"data": "AA"}}'
            ),
            chunk("7", call(WEATHER), finish="STOP"),
            ids=("",),
            said=TEXT,
        ),
        "an error that is no event": Case(body=SAID + PRETTY_ERROR, text=TEXT, stop="failed", failure="it broke"),
        "a fault of the model": Case(
            body=SAID + chunk(finish="MALFORMED_RESPONSE", finishMessage="it broke"),
            text=TEXT,
            stop="failed",
            failure="it broke",
            vendor="MALFORMED_RESPONSE: it broke",
        ),
    },
    models=text(
        {
            "models": [
                {"name": "models/model-a", "supportedGenerationMethods": ["generateContent", "countTokens"]},
                {"name": "models/model-e", "supportedGenerationMethods": ["embedContent"]},
                {"name": "models/model-b", "displayName": "B", "supportedGenerationMethods": ["generateContent"]},
            ],
            "nextPageToken": "x",
        }
    ),
    refusal=b'[{"error": {"code": 404, "message": "no such model", "status": "NOT_FOUND"}}]',
)

LISTS = {
    "a list of its chunks": Case(
        body=LISTED, text=TEXT, calls=(WEATHER, TIME), ids=("", ""), stop="tools", vendor="STOP", usage=USED
    ),
    "a list that breaks off": Case(body=LISTED[: LISTED.index(b"\n,")], text=TEXT, stop="cut", usage=USED),
    "a list of an error": Case(body=b"[" + PRETTY_ERROR + b"]", stop="failed", failure="it broke"),
}
"""The stream in the form of one list, as a proxy makes the service send it that drops the query."""
