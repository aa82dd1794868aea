"""From an uploaded document to rows: what it brings, what is wrong with it and where, and how it is stored."""
