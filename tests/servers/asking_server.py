"""The server of `sdk_server`, with tools that ask the client for something, in both eras."""

from __future__ import annotations

from typing import Annotated, Literal

import mcp_types
from mcp.server.mcpserver.resolve import Elicit, ListRoots, Resolve, Sample
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


if __name__ == "__main__":
    main()
