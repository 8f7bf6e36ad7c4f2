"""Counted loops: one turn after the other, also where it is not decided yet how many there are."""
