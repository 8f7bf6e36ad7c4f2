"""
Asynchronous tile pipelines in pure Python: read them, run them, check them, transform them.

Importing this package loads nothing but itself. README.md has the map of its storeys and rooms.
"""
