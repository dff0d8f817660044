"""What the screens are made of. Everything that can grow is a line view."""
