"""The configuration: reading, saving, secrets, and the files of other hosts."""
