"""The tool protocols, one module each; `table` lists them."""
