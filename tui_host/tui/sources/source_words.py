"""What the first frame says of sessions that have no row yet, and their sources later."""

ARRIVING = "arriving"
"""The id of the placeholder for a session that will be read from a file. No stored session has it."""

EMPTY_LIVE = "Nothing sent yet. Ask something, and every byte appears here."
EMPTY_KEPT = "No requests or frames of this session were saved."
EMPTY_TAPPED = "Nothing has passed yet. Use the tapped host, and its traffic appears here."
BEING_READ = "Reading the records …"
FROM_FILE = "From a file, read only.  ctrl+n new session  / commands"
"""The prompt's placeholder in a session from a file."""
TAPPED = "Tapped, read only.  ctrl+n new session  / commands"
"""The same in a session of a tap."""
NO_CHAT = "This capture has no chat. Read its requests and frames in the inspector (f2). To send something, begin a session of your own with ctrl+n."
NO_MODEL = "Only servers are tapped so far. To see the model's traffic too, run tui-host tap llm --upstream URL."
LOADING = "Reading the taps' records …"
GONE = "These records were deleted. f5 lists other sessions; ctrl+n begins your own."
NOTHING_SAID = "No messages yet. Use the tapped host, and they appear here."
NEVER_SAID = "No messages passed while this host was tapped."


def reading_words(title: str) -> str:
    """Return the placeholder text while a file is read."""
    return f"reading {title} …"
