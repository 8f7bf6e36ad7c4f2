"""
Measurements: `make bench`, or `python -m bench [NAME]...`.

Every module in this package that defines `measure() -> list[dict]` is one measurement: a dictionary a row, the same
keys in each, numbers as numbers with the unit in the key (`parse us/op`). Results are printed as tables and written to
`build/bench/NAME.json`. Nothing here passes or fails; tests do that.
"""
