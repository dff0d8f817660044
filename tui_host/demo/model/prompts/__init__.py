"""Tools without the API's own: tool protocols in plain text, and the hub's three tools in place of all."""
