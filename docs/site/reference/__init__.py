"""Pages that are made from the code: commands, passes, dialects, diagnostics, the Python API and the targets."""
