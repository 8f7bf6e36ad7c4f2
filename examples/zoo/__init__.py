"""
The bug zoo: failures that hurt users of other tools, each as a small pipeline that is wrong and its twin that is right.

Each `<name>.bad.mlir` says in its header what happened, to whom, what is wrong in the program and what the checker says
of it; `<name>.good.mlir` differs by as little as possible. `python -m examples.zoo` checks them all.
"""
