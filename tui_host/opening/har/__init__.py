"""HTTP archives, as browsers and mitmproxy write them."""
