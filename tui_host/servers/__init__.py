"""The servers' side: transports that record, one connection for each server, and the pool of them."""
