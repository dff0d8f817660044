"""The tool protocols, one module each; `protocol_table` lists them."""
