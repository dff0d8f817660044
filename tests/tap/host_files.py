"""Files as other hosts have them, written for the tests: with comments, odd spacing, secrets, and things that are no servers."""

DESKTOP = """\
{
  "globalShortcut": "Ctrl+Space",
  "mcpServers": {
    "filesystem": {
      "command": "npx",
      "args": [
        "-y",
        "/home/ann/My \\"Documents\\""
      ]
    },
    "weather": {
      "command": "/home/ann/.local/bin/uv", "args": ["--directory", "/srv/weather", "run", "weather.py"],
      "env": { "WEATHER_KEY": "wk-51f0c2aa9b" }
    },
    "remote": { "command": "npx", "args": ["mcp-remote", "--header", "Authorization: Bearer abc.def"] },
    "bare": {"env": {}, "command":"notes-mcp"},
    "nothing": { "args": [ ], "command": "empty-list" }
  }
}
"""

CLAUDE_CODE = """\
{
  "oauthAccount": { "emailAddress": "ann@example.org", "accessToken": "at-very-secret" },
  "projects": {
    "/home/ann/shop": {
      "mcpServers": {
        "db": { "type": "stdio", "command": "uvx", "args": ["mcp-server-sqlite", "--db-path", "/srv/shop.db"], "env": {} },
        "github": { "type": "http", "url": "https://api.example/mcp/", "headers": { "Authorization": "Bearer ghp_secret" } }
      }
    },
    "/home/ann/wiki": { "mcpServers": { "db": { "command": "${HOME}/bin/db", "args": ["--ro"] } } }
  },
  "mcpServers": { "memory": { "type": "stdio", "command": "npx", "args": ["-y", "server-memory"], "env": {} } }
}
"""

CURSOR = """\
{
\t"mcpServers": {
\t\t"postgres": {
\t\t\t"command": "docker",
\t\t\t"args": [
\t\t\t\t"run", "-i", "--rm",
\t\t\t\t"-e", "PGPASSWORD=hunter22",
\t\t\t\t"pg-mcp", "postgresql://ann:hunter22@db.example/shop"
\t\t\t],
\t\t\t"envFile": "${workspaceFolder}/.env"
\t\t},
\t\t"linear": { "url": "https://mcp.linear.example/sse" }
\t}
}
"""

VSCODE = """\
// Servers for all workspaces
{
  "inputs": [ { "type": "promptString", "id": "key", "description": "API key", "password": true }, ],
  "servers": {
    /* the first one */
    "perplexity": {
      "type": "stdio",
      // "command": "node",
      "command": "npx", // not node
      "args": [ /* quiet */ "-y", "server-perplexity", ],
      "env": { "PERPLEXITY_API_KEY": "${input:key}" },
    },
    "fetch": {
      "args": [ "mcp-server-fetch", ], // from PyPI
      "command": "uvx",
    },
    "just":
      {
        "type": "stdio",
        // no arguments
        "command": "${userHome}/bin/my server"
      },
  },
}
"""

CLINE = """\
{
  "mcpServers": {
    "math": { "autoApprove": ["add"], "timeout": 60, "type": "stdio", "command": "uv", "args": ["run", "server.py"] },
    "new": { "transport": { "type": "stdio", "command": "node", "args": ["index.js"] }, "disabled": true },
    "sse": { "disabled": true, "url": "https://mcp.example/sse?api_key=k3y" }
  }
}"""

SAMPLES = (
    ("claude-desktop", DESKTOP),
    ("claude-code", CLAUDE_CODE),
    ("cursor", CURSOR),
    ("vscode", VSCODE),
    ("cline", CLINE),
)

SECRETS = ("wk-51f0c2aa9b", "abc.def", "at-very-secret", "ghp_secret", "hunter22", "k3y", "ann@example.org")
"""What stands in the samples and must never be shown."""
