"""Gemini's generateContent."""

from dataclasses import replace

from tests.kit.bodies import event
from tests.llm.recorded.case import NOW, TEXT, THOUGHT, TIME, WEATHER, Case, Recorded, asking, failing, text
from tui_host.errors import JSON
from tui_host.llm.messages import Stop, Usage

SIGNATURES = ("c2lnLTE=", "c2lnLTI=", "c2lnLTM=")
COUNTED: JSON = {
    "promptTokenCount": 100,
    "cachedContentTokenCount": 64,
    "toolUsePromptTokenCount": 20,
    "candidatesTokenCount": 32,
    "thoughtsTokenCount": 16,
}
USED = Usage(input_total=120, input_cached=64, output_total=48, reasoning=16)


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


SAID = chunk(part(TEXT[:7])) + chunk(part(TEXT[7:]))
END = chunk(part(""), finish="STOP")


def ended(finish: str, stop: Stop = "end", *, vendor: str = "", failure: str = "", **more: JSON) -> Case:
    body = SAID + chunk(part(""), finish=finish, **more)
    return Case(body=body, text=TEXT, stop=stop, vendor=vendor or finish, failure=failure)


def wants(*chunks: bytes, ids: tuple[str, ...] = ("", ""), said: str = "", **more: object) -> Case:
    return replace(asking(b"".join(chunks), "STOP", ids=ids, text=said), **more)


WHOLE = value(part(TEXT), call(WEATHER), call(TIME), finish="STOP", usage=COUNTED)
LISTED = (
    b"[" + value(part(TEXT), usage=COUNTED) + b"\n,\r\n" + value(call(WEATHER), call(TIME), finish="STOP") + b"\n]\n"
)
ERROR = b'{\n  "error": {\n    "code": 500,\n    "message": "it broke",\n    "status": "INTERNAL"\n  }\n}\n'
BLOCKED: JSON = {"promptFeedback": {"blockReason": "SPII"}, "usageMetadata": {"promptTokenCount": 100}}
CODE = '{"executableCode": {"language": "PYTHON", "code": "1"}}'

RECORDED = Recorded(
    dialect="gemini",
    text=ended("STOP"),
    tools=wants(SAID, chunk(call(WEATHER)), END, ids=("",), said=TEXT),
    parallel=wants(chunk(call(WEATHER, signature=SIGNATURES[0]), call(TIME)), chunk(finish="STOP")),
    thinking=wants(
        chunk(part(THOUGHT[:5], thought=True)),
        chunk(part(THOUGHT[5:], thought=True)),
        chunk(part(TEXT[:7])),
        chunk(part(TEXT[7:], thoughtSignature=SIGNATURES[0])),
        chunk(call(WEATHER, signature=SIGNATURES[1])),
        chunk(part("", thoughtSignature=SIGNATURES[2]), finish="STOP"),
        ids=("",),
        said=TEXT,
        thinking=THOUGHT,
        echoes=(
            b'{"text":' + text(TEXT[7:]) + b',"thoughtSignature":"c2lnLTE="}',
            b'"args":{"city":"Paris"}},"thoughtSignature":"c2lnLTI="}',
            b'{"text":"","thoughtSignature":"c2lnLTM="}',
        ),
    ),
    usage=replace(ended("STOP", usage=COUNTED), usage=USED),
    failing=failing(SAID + event({"error": {"code": 503, "message": "it broke", "status": "UNAVAILABLE"}})),
    whole=replace(asking(WHOLE, "STOP", text=TEXT), usage=USED),
    ends={
        "MAX_TOKENS": ended("MAX_TOKENS", "length"),
        **{word: ended(word, "refused") for word in ("SAFETY", "IMAGE_SAFETY", "OTHER")},
        "CONTINUATION": ended("CONTINUATION", "paused"),
        "a call that is malformed": ended(
            "MALFORMED_FUNCTION_CALL", "bad call", vendor="MALFORMED_FUNCTION_CALL: now(", finishMessage="now("
        ),
        "a fault of the model": ended(
            "MALFORMED_RESPONSE",
            "failed",
            vendor="MALFORMED_RESPONSE: it broke",
            failure="it broke",
            finishMessage="it broke",
        ),
        "a word of tomorrow": ended("TIRED"),
        "a prompt that is blocked": Case(
            body=event(BLOCKED), stop="refused", vendor="SPII", usage=Usage(input_total=100)
        ),
        "[DONE] alone": Case(body=SAID + b"data: [DONE]\n\n", text=TEXT, vendor="[DONE]"),
    },
    odd={
        "no arguments": wants(chunk(call((NOW[0], ""))), END, ids=("",), calls=((NOW[0], ""),)),
        "with ids": wants(chunk(call(WEATHER, "a")), chunk(call(TIME, "b"), finish="STOP"), ids=("a", "b")),
        "one id for both": wants(chunk(call(WEATHER, "a")), chunk(call(TIME, "a"), finish="STOP"), ids=("a", "a")),
        "parts of other kinds": wants(
            chunk(CODE, part(TEXT), '{"inlineData": {"data": "AA"}}'),
            chunk("7", call(WEATHER), finish="STOP"),
            ids=("",),
            said=TEXT,
        ),
        "an error that is no event": failing(SAID + ERROR),
        # The stream in the form of one list, as a proxy makes the service send it that drops the query.
        "a list of its chunks": replace(asking(LISTED, "STOP", text=TEXT), usage=USED),
        "a list that breaks off": Case(body=LISTED[: LISTED.index(b"\n,")], stop="cut"),
        "a list of an error": Case(body=b"[" + ERROR + b"]", stop="failed", failure="it broke"),
    },
    models=text(
        {
            "models": [
                {"name": "models/model-a", "supportedGenerationMethods": ["generateContent", "countTokens"]},
                {"name": "models/model-e", "supportedGenerationMethods": ["embedContent"]},
                {"name": "models/model-b", "displayName": "B", "supportedGenerationMethods": ["generateContent"]},
            ]
        }
    ),
    refusal=b'[{"error": {"code": 404, "message": "no such model", "status": "NOT_FOUND"}}]',
)
