"""
Where every element of a tile lies: which thread and register, which byte. Pure data and arithmetic over F2, without IR.

`linear.py` has the one idea, a linear map between bit strings. `distributed.py`, `fragments.py` and `memory.py` name
the layouts of the field, `conversion.py` plans how a tile gets from one to another, and `threads.py` does it.

Reference: Zhou et al., Linear Layouts: Robust Code Generation of Efficient Tensor Computation Using F2
(arXiv 2505.23819).
"""
