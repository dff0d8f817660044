"""The pane that holds the list and its details."""
