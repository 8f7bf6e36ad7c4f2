"""What several passes share when they rewrite. Nothing here decides anything."""
