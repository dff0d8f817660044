"""The approval of a tool call, with one key per decision."""
