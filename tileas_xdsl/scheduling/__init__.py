"""Plans: who runs when. Nothing here changes IR."""
