"""What the model is told of a call that gave a result, failed, or was not run; and how it looks in one line."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence

from tui_host.chat.policy import Decision
from tui_host.errors import TuiHostError
from tui_host.llm.messages import Image, Text, ToolCall, ToolResult
from tui_host.servers.catalog import Content, ToolOutput

RESULT_LIMIT = 50_000
COMMAND_LIMIT = 2_000


def shortened(text: str, limit: int = RESULT_LIMIT) -> str:
    """Head and tail of a long text, with what was left out between."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half:,} characters left out ...]\n{text[-half:]}"


def _block_text(block: Content) -> str:
    if block.kind == "text":
        return block.text
    if block.kind == "resource_link":
        return f"[link: {block.text} ({block.uri})]"
    if not block.data:
        return block.text
    size = f"{len(block.data) * 3 // 4 - block.data[-2:].count('='):,} bytes"
    about = ", ".join(word for word in (block.media_type or "unknown type", size, block.uri) if word)
    broken = "" if is_base64(block.data) else ", not readable"
    return f"[{block.kind}: {about}{broken}]"


def is_base64(data: str) -> bool:
    """Whether it holds bytes: a provider refuses a request, and all that follow, in which an image does not."""
    try:
        return bool(base64.b64decode(data, validate=True))
    except ValueError:
        return False


def output_text(output: ToolOutput) -> str:
    """A result as text, for the model and for the chat."""
    text = "\n\n".join(_block_text(block) for block in output.content)
    if not text.strip() and output.structured is not None:
        text = json.dumps(output.structured, ensure_ascii=False)  # a server may write NaN, which is told as it is
    return shortened(text) if text.strip() else "(no content)"


def result_of(call: ToolCall, output: ToolOutput) -> ToolResult:
    """What the model is told of a result; images, those that resources hold too, go along as images."""
    images = tuple(
        Image(media_type=block.media_type, data=block.data)
        for block in output.content
        if block.media_type.startswith("image/") and is_base64(block.data)
    )
    text = output_text(output)
    if output.is_error and not text.startswith("Error"):
        text = f"Error: {text}"
    return ToolResult(call=call, content=(Text(text=text), *images), is_error=output.is_error)


def error_of(call: ToolCall, text: str) -> ToolResult:
    """What the model is told of a call that gave no result."""
    return ToolResult(call=call, content=(Text(text=text),), is_error=True)


def rejection_of(call: ToolCall, decision: Decision) -> ToolResult:
    """What the model is told of a call that was not allowed."""
    if decision.by == "rule":
        return error_of(call, "This call is denied by a rule of the user. It was not run.")
    if decision.by == "default":
        return error_of(call, "Nobody was there to approve this call. It was not run.")
    reason = f" The user's reason: {decision.reason}" if decision.reason else ""
    return error_of(call, f"The user rejected this call. It was not run.{reason}")


def invalid_of(call: ToolCall, error: TuiHostError) -> ToolResult:
    """What the model is told of a call that cannot be made."""
    return error_of(call, f"Error: {error}. Nothing was run.")


def left_out_of(taken: int) -> str:
    """What is said where a model asked for more calls in one answer than are taken in."""
    return f"the model asked for more than {taken} calls at once: the first {taken} are taken, the rest left out"


def limit_of(steps: int) -> str:
    """What stands in the place of an answer when the turn has reached its limit."""
    return f"[The turn ended here: it had reached its limit of {steps} steps.]"


STOPPED = "The user stopped the turn before this call was run."
STOPPED_RUNNING = (
    "The user stopped the turn while this call was running. It may have had its effect; its result is unknown."
)
CUT_RUNNING = "stopped while it ran; it may have had its effect"
CUT_BEFORE = "stopped before it was sent"
NOT_DECIDED = "not decided: the turn was stopped"
TURN_STOPPED = "[The user stopped the turn here; no answer followed these results.]"
NO_ANSWER = "[No answer followed here.]"
ANSWER_NOT_BEGUN = "[The user stopped this answer before it began.]"
ANSWER_STOPPED = "[The user stopped the previous answer here.]"
ANSWER_CUT = "[The connection broke off here; the previous answer is not complete.]"
FAILED = "A fault in the host ended the turn before this call had a result. It may have had its effect; its result is unknown."
FAILED_BEFORE = "A fault in the host ended the turn before this call was run."
ENDED_BEFORE = "The program ended before this call was run."
ENDED = "The program ended before this call had a result. It may have had its effect; its result is unknown."


def same_call_of(times: int) -> str:
    """Tells the model that it goes round in circles."""
    return (
        f"You have made the same call with the same arguments {times} times in a row. Its result stands above: use it, "
        "make another call, or give the answer. The same call again will not be run."
    )


def cut_behind_call_of(count: int, asked: Sequence[str]) -> str:
    """Tells the person what is left out of an answer.

    Args:
        count: How many characters.
        asked: The tools of the calls that stand in them.
    """
    characters = "1 character" if count == 1 else f"{count:,} characters"
    held = f", and in them {_calls_of(asked)}, not run" if asked else " that the model made up"
    return f"cut behind the call: {characters}{held}; the inspector shows them"


def not_run_behind_of(asked: Sequence[str]) -> str:
    """Tells the model that what it asked for behind its call was not run."""
    was = "was" if len(asked) == 1 else "were"
    return (
        f"In your answer {_calls_of(asked)} stood behind a call whose result you did not have yet, and {was} not run. "
        "End an answer with its call, and wait for the result before you ask for more."
    )


def _calls_of(asked: Sequence[str]) -> str:
    return f"a call of {asked[0]}" if len(asked) == 1 else f"{len(asked)} calls ({', '.join(asked)})"


def command_of(command: str) -> str:
    """Shows the person a command that an answer proposes."""
    return f"a command that the model proposes, not run: {shortened(command, COMMAND_LIMIT)}"
