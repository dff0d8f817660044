"""Logs of home-made proxies, one file or two, in whatever form: bodies, streams and JSON-RPC messages in their lines.

`lines` recognises a log and reads it: `log` sorts what `linewise` finds in each line into `lanes` (the model's side) and `passed` (the
servers'). `pairs` and `halves` tell which files are two directions of one.
"""
