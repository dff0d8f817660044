"""A server made with FastMCP 2 that offers one tool more once it is asked to. Runs in an environment of its own, not in the project's."""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
# (the project does not have FastMCP installed)

from __future__ import annotations

from fastmcp import Context, FastMCP

server = FastMCP("growing")


@server.tool
async def grow(ctx: Context) -> str:
    """Add the tool `late`."""
    await ctx.info("growing ✓")
    server.tool(late)
    return "grown"


def late(word: str) -> str:
    """Say it again."""
    return word


server.run(show_banner=False)
