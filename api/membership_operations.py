"""Who is in a project, who has which item, what is said about items."""
