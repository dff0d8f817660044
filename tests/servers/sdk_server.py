"""A server made with the SDK, for both eras: `stdio`, `http` or `sse`. Over HTTP it prints `{"url": …}` and ends with its input."""

import asyncio
import json
import os
import socket
import sys
import threading
from typing import Annotated, Literal

import anyio
import mcp_types
import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.prompts import Prompt
from mcp.server.mcpserver.resolve import Elicit, ListRoots, Resolve, Sample
from mcp.server.mcpserver.resources import TextResource
from pydantic import BaseModel, Field

server = MCPServer("made with the SDK", version="1.2.3", instructions="Be kind.")


@server.tool()
def echo(text: str) -> str:
    """Give the text back."""
    return text


@server.tool()
def add(a: float, b: float) -> dict[str, float]:
    """Add two numbers."""
    return {"sum": a + b}


@server.tool()
def fail() -> str:
    """Fail."""
    raise ValueError("on purpose")


@server.tool()
async def progress(ctx: Context) -> str:
    """Report progress three times."""
    for each in range(3):
        await ctx.report_progress(each, 3, "working")
        await anyio.sleep(0.05)  # the pace of its work
    return "worked"


@server.tool()
async def wait(seconds: float) -> str:
    """Wait, and say on standard error if the wait was cut."""
    try:
        await anyio.sleep(seconds)
    except anyio.get_cancelled_exc_class():
        print("the wait was cancelled", file=sys.stderr, flush=True)
        raise
    return "waited"


@server.tool()
async def grow(name: str, ctx: Context) -> str:
    """Get one tool more."""

    def grown() -> str:
        return "grown"

    server.add_tool(grown, name=name)
    await ctx.notify_tools_changed()
    await ctx.session.send_tool_list_changed()
    return "grew"


@server.tool()
def exit(code: int) -> str:  # noqa: A001 - what it does
    """End the process."""
    os._exit(code)


@server.resource("note://one")
def note() -> str:
    """A note."""
    return "note"


@server.resource("note://of/{name}")
def note_of(name: str) -> str:
    """A note of one's own."""
    return f"note of {name}"


@server.prompt(title="Greeting")
def greet(name: str = "you") -> str:
    """A greeting."""
    return f"hello {name}"


@server.completion()
async def complete(
    ref: mcp_types.PromptReference | mcp_types.ResourceTemplateReference,
    argument: mcp_types.CompletionArgument,
    context: mcp_types.CompletionContext | None,
) -> mcp_types.Completion:
    """Names that begin as typed, with what else is known."""
    about = ref.name if isinstance(ref, mcp_types.PromptReference) else ref.uri
    known = "" if context is None else "".join((context.arguments or {}).values())
    return mcp_types.Completion(values=[f"{argument.value}nna {about} {known}".strip()])


@server.tool()
async def list_more(name: str, ctx: Context) -> str:
    """Get one resource and one prompt more."""
    server.add_resource(TextResource(uri=f"note://{name}", name=name, text=name))
    server.add_prompt(Prompt.from_function(lambda: "x", name=name))
    await ctx.notify_resources_changed()
    await ctx.notify_prompts_changed()
    await ctx.session.send_resource_list_changed()
    await ctx.session.send_prompt_list_changed()
    return "listed"


@server.tool()
async def update(uri: str, ctx: Context) -> str:
    """Say that a resource has changed."""
    await ctx.notify_resource_updated(uri)
    await ctx.session.send_resource_updated(uri)
    return "updated"


# What asks the client for something


class Details(BaseModel):
    seats: int = Field(ge=1, le=9)
    meal: Literal["meat", "plants"] = "plants"
    window: bool = True


class Name(BaseModel):
    name: str


def ask_model() -> Sample:
    message = mcp_types.SamplingMessage(role="user", content=mcp_types.TextContent(text="Say blue."))
    return Sample([message], max_tokens=50, system_prompt="Be brief.", temperature=0.5)


def ask_details() -> Elicit[Details]:
    return Elicit("Which seats?", Details)


def ask_name() -> Elicit[Name]:
    return Elicit("What is your name?", Name)


@server.tool()
async def book(train: str, details: Annotated[Details, Resolve(ask_details)]) -> str:
    return f"{train}: {details.seats} {details.meal} {details.window}"


@server.tool()
async def greet_twice(
    details: Annotated[Details, Resolve(ask_details)], name: Annotated[Name, Resolve(ask_name)]
) -> str:
    return f"{name.name} {details.seats}"


@server.tool()
async def ask_the_model(answer: Annotated[mcp_types.CreateMessageResult, Resolve(ask_model)]) -> str:
    content = answer.content
    return f"{answer.model}: {content.text if isinstance(content, mcp_types.TextContent) else content.type}"


@server.tool()
async def folders(roots: Annotated[mcp_types.ListRootsResult, Resolve(ListRoots)]) -> str:
    return " ".join(str(root.uri) for root in roots.roots)


async def agree(_: object, __: object) -> mcp_types.EmptyResult:
    return mcp_types.EmptyResult()


for method, kind in (
    ("resources/subscribe", mcp_types.SubscribeRequestParams),
    ("resources/unsubscribe", mcp_types.UnsubscribeRequestParams),
):
    server._lowlevel_server.add_request_handler(method, kind, agree)  # pyright: ignore[reportPrivateUsage]


def serve(kind: str, port: int) -> None:
    listening = socket.create_server(("127.0.0.1", port))
    app = server.sse_app() if kind == "sse" else server.streamable_http_app()
    port = listening.getsockname()[1]
    print(json.dumps({"url": f"http://127.0.0.1:{port}/{'sse' if kind == 'sse' else 'mcp'}"}), flush=True)
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    asyncio.run(uvicorn.Server(uvicorn.Config(app, log_level="critical")).serve(sockets=[listening]))


def main(words: list[str]) -> None:
    if words[0] == "stdio":
        server.run("stdio")
    else:
        serve(words[0], int(words[1]) if len(words) > 1 else 0)
