"""What peels and overlaps loops, for the passes that do."""
