"""Read files of other programs and turn them into records: one module or folder for each format."""
