"""Files that others captured, turned into records: one module or folder for each format."""
