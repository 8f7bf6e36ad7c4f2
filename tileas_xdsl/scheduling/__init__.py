"""Plans of schedules: which op runs when. Nothing here changes IR."""
