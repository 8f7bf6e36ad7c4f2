"""Foreign files in, one dialect out, and back: no pass and no meaning is here."""
