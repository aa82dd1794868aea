"""Projects: their settings, resources and ends."""
