"""What was said, as bytes: records, where they are kept, and what is folded out of them."""
