"""What people mark: read, written, suggested, done on many items at once."""
