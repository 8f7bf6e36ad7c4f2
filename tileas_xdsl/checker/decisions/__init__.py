"""
Proofs of nests, and of several loop counts: the finite graph of states and decisions.

Whenever an agent comes to the head of a loop of which it is open how often it turns, there are two decisions: one more
turn, or none. If from each state that is found both decisions lead to a state that is known, and nothing was wrong on
the way, every sequence of decisions is right, and so every combination of loop counts.
"""
