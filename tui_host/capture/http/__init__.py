"""HTTP traffic: recording transports, exchanges, bodies, event streams, and the frames inside bodies."""
