"""The command line: the second front on the same core. Plain text and JSON, no Textual."""
