"""Gold: what is decided about items; and how much people agree."""
