"""How tiles become threads: where their bytes lie, who executes what, and what has to wait for what."""
