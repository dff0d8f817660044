"""The command line: runs turns and shows sessions without the app, as plain text or JSON. Does not import Textual."""
