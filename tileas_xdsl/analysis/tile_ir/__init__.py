"""Analyses of Tile IR itself."""
