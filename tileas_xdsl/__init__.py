"""
Asynchronous tile pipelines in pure Python: read them, run them, check them, transform them.

Importing this package loads nothing but itself. The storeys of the house, from the ground up:
`diagnostics`, `interfaces`, `targets` (ground), `dialects` (words), `analysis` (facts), `machine` (meaning),
`transforms` and `views` (changes and pictures), `pipelines` (order), `tools` and `universe` (the street door).
"""
