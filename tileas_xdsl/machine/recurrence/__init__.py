"""
Proofs for every trip count: executions that are written down (`tape`), the state at the head of a loop up to what may
differ from one turn to the next (`portrait`), how operations treat numbers that move on from turn to turn (`shifts`),
two executions side by side (`alignment`), and the induction over trip counts (`induction`). See docs/proofs.md.
"""
