"""The exercises of the course: one folder each, which `tools/exercises.py` describes. Nothing here is imported."""
