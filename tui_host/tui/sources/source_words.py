"""What the first frame says of sessions that have no row yet, and their sources later."""

EMPTY_LIVE = "Nothing sent yet. Ask something, and every byte appears here."
FROM_FILE = "From a file, read only.  ctrl+n new session  / commands"
"""The prompt's placeholder in a session from a file."""

NO_CHAT = "This capture has no chat. Read its requests and frames in the inspector (f2). To send something, begin a session of your own with ctrl+n."


def reading_words(title: str) -> str:
    """Return the placeholder text while a file is read."""
    return f"reading {title} …"
