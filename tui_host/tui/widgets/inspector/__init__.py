"""The pane with the list and the details."""
