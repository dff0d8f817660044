"""The two details of the inspector: rows opened, side by side."""
