"""Configuration files of other hosts: the only code that reads and writes them."""
