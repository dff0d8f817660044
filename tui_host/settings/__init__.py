"""The configuration: reads it, saves choices, resolves secrets, and edits the configuration files of other hosts."""
