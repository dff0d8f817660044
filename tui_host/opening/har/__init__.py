"""HTTP archives, as browsers and mitmproxy write them. `archive` reads one; what it needs stands below it."""
