"""Passes about marks: `rocdl.asyncmark` closes what was issued before it."""
