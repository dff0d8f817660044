"""The server of `sdk_server`, with tools that ask the client for something, in both eras."""

from __future__ import annotations

from typing import Annotated, Literal

import anyio
import mcp_types
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.resolve import Elicit, ListRoots, Resolve, Sample
from mcp.shared.exceptions import UrlElicitationRequiredError
from pydantic import BaseModel, Field
from sdk_server import main, server


class Details(BaseModel):
    seats: int = Field(ge=1, le=9)
    meal: Literal["meat", "plants"] = "plants"
    window: bool = True


class Name(BaseModel):
    name: str


def ask_details() -> Elicit[Details]:
    return Elicit("Which seats?", Details)


def ask_name() -> Elicit[Name]:
    return Elicit("What is your name?", Name)


def ask_model() -> Sample:
    message = mcp_types.SamplingMessage(role="user", content=mcp_types.TextContent(text="Say blue."))
    return Sample([message], max_tokens=50, system_prompt="Be brief.", temperature=0.5)


@server.tool()
async def book(train: str, details: Annotated[Details, Resolve(ask_details)]) -> str:
    """Book seats."""
    return f"{train}: {details.seats} {details.meal} {details.window}"


@server.tool()
async def greet_twice(
    details: Annotated[Details, Resolve(ask_details)], name: Annotated[Name, Resolve(ask_name)]
) -> str:
    """Ask two questions."""
    return f"{name.name} {details.seats}"


@server.tool()
async def ask_the_model(answer: Annotated[mcp_types.CreateMessageResult, Resolve(ask_model)]) -> str:
    """Ask the client's model."""
    content = answer.content
    return f"{answer.model}: {content.text if isinstance(content, mcp_types.TextContent) else content.type}"


def ask_roots() -> ListRoots:
    return ListRoots()


@server.tool()
async def folders(roots: Annotated[mcp_types.ListRootsResult, Resolve(ask_roots)]) -> str:
    """List the client's roots."""
    return " ".join(str(root.uri) for root in roots.roots)


@server.tool()
async def tick(ctx: Context) -> str:
    """Report progress for four seconds."""
    for number in range(40):
        await ctx.report_progress(number, 40, "ticking")
        await anyio.sleep(0.1)  # the pace of its work
    return "ticked"


visits: list[str] = []


@server.tool()
async def visit() -> str:
    """Fail until a page was visited, which is complete as soon as it was asked for twice."""
    if visits:
        return f"visited {len(visits)}"
    visits.append("one")
    page = mcp_types.ElicitRequestURLParams(message="Sign in", url="https://example.test/a", elicitation_id="e1")
    raise UrlElicitationRequiredError([page])


@server.tool()
async def page(ctx: Context) -> str:
    """Ask to visit a page, and say that it was visited before the person does."""
    actions: list[str] = []
    async with anyio.create_task_group() as group:
        group.start_soon(ctx.session.send_elicit_complete, "e2")
        answer = await ctx.session.elicit_url("Look", "https://example.test/b", "e2")
        actions.append(answer.action)
    return " ".join(actions)


if __name__ == "__main__":
    main()
