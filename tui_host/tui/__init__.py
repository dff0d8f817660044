"""The app: Textual screens and widgets over the host. Views draw and ask; nothing is decided here."""
