"""What the bundled servers say of themselves and their tools."""

from __future__ import annotations

from mcp_types import ToolAnnotations

VERSION = "1.0.0"
READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
