"""What is asked over the chat: calls to approve, and the questions of servers."""
