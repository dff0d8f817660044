"""Which taps tell one story, and what each is called."""
