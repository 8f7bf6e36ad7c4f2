"""
Instructions that several dialects write: one meaning for an op of `nvvm` and for those of `ttng` that become it.

`copy_groups`, `barriers` and `tensor_core` do the same for `cp.async`, mbarriers and `tcgen05`.
"""
