"""Other hosts' configuration files: where they are, what stands in them, and how to change one without touching the rest."""
