"""Passes that rewrite nothing: they report errors and remarks."""
