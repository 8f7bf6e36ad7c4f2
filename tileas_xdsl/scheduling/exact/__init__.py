"""
The exact scheduler: the least initiation interval of a loop, proven, with one agent or jointly with who runs what.

Pure data in (`problem.py`), a frozen result out (`result.py`); nothing here knows IR. The entry is `search.solve`.
"""
