"""Serves a bundled server with the MCP SDK. Imported late, with the SDK."""

from __future__ import annotations

import base64
from typing import TypeAlias

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError

from tui_host.demo.servers.bundled import BundledResource, BundledServer, BundledTool, ToolFailed, object_schema

_Context: TypeAlias = ServerRequestContext[dict[str, object]]
_READS = types.ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)


def sdk_server(bundled: BundledServer, version: str) -> Server[dict[str, object]]:
    """Return an SDK server for `bundled`, with handlers only for what it offers."""
    handlers = _Handlers(bundled)
    has_resources, has_prompts = bool(bundled.resources), bool(bundled.prompts)
    # The low-level class: it keeps our schemas exactly, and starts faster without pydantic models for each tool.
    return Server(
        bundled.name,
        version=version,
        title=bundled.title,
        instructions=bundled.instructions,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources if has_resources else None,
        on_list_resource_templates=handlers.list_templates if has_resources else None,
        on_read_resource=handlers.read_resource if has_resources else None,
        on_list_prompts=handlers.list_prompts if has_prompts else None,
        on_get_prompt=handlers.get_prompt if has_prompts else None,
    )


class _Handlers:
    """Answers the SDK's requests from a bundled server."""

    def __init__(self, bundled: BundledServer) -> None:
        self._bundled = bundled

    async def list_tools(self, context: _Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        del context, params
        return types.ListToolsResult(tools=[_as_tool(tool) for tool in self._bundled.tools])

    async def call_tool(self, context: _Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        del context
        tool = next((tool for tool in self._bundled.tools if tool.name == params.name), None)
        if tool is None:
            names = ", ".join(tool.name for tool in self._bundled.tools)
            return _failed(f"unknown tool {params.name!r:.80}: there are {names}")
        try:
            answer = tool.call(params.arguments or {})
        except ToolFailed as failure:
            return _failed(str(failure))
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=answer.text)], structured_content=answer.structured
        )

    async def list_resources(
        self, context: _Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        del context, params
        return types.ListResourcesResult(
            resources=[
                types.Resource(
                    uri=resource.uri,
                    name=resource.name,
                    title=resource.title,
                    description=resource.description,
                    mime_type=resource.mime_type,
                )
                for resource in self._bundled.resources
            ]
        )

    async def list_templates(
        self, context: _Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """Return no templates: clients ask every server with resources for templates too."""
        del context, params
        return types.ListResourceTemplatesResult(resource_templates=[])

    async def read_resource(
        self, context: _Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        del context
        for resource in self._bundled.resources:
            if resource.uri == str(params.uri):
                return types.ReadResourceResult(contents=[_contents(resource)])
        raise MCPError(code=types.INVALID_PARAMS, message=f"unknown resource {params.uri!s:.200}")

    async def list_prompts(
        self, context: _Context, params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        del context, params
        return types.ListPromptsResult(
            prompts=[
                types.Prompt(
                    name=prompt.name,
                    title=prompt.title,
                    description=prompt.description,
                    arguments=[
                        types.PromptArgument(name=prompt.argument[0], description=prompt.argument[1], required=True)
                    ],
                )
                for prompt in self._bundled.prompts
            ]
        )

    async def get_prompt(self, context: _Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        del context
        prompt = next((prompt for prompt in self._bundled.prompts if prompt.name == params.name), None)
        if prompt is None:
            raise MCPError(code=types.INVALID_PARAMS, message=f"unknown prompt {params.name!r:.80}")
        value = (params.arguments or {}).get(prompt.argument[0], "").strip()
        if not value:
            raise MCPError(code=types.INVALID_PARAMS, message=f"missing argument {prompt.argument[0]!r}")
        text = types.TextContent(type="text", text=prompt.write(value))
        return types.GetPromptResult(
            description=prompt.description, messages=[types.PromptMessage(role="user", content=text)]
        )


def _contents(resource: BundledResource) -> types.TextResourceContents | types.BlobResourceContents:
    held = resource.read()
    if isinstance(held, str):
        return types.TextResourceContents(uri=resource.uri, mime_type=resource.mime_type, text=held)
    blob = base64.b64encode(held).decode()
    return types.BlobResourceContents(uri=resource.uri, mime_type=resource.mime_type, blob=blob)


def _as_tool(tool: BundledTool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=object_schema(tool.properties),
        output_schema=object_schema(tool.output),
        annotations=_READS,
    )


def _failed(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=True)
