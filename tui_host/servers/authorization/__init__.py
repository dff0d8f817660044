"""Logins at servers behind URLs: OAuth 2.1, by the SDK's provider with a layer of ours. Imported with the first such server."""
