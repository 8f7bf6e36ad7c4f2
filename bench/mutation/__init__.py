"""Small faults in right programs, and whether the checker notices them; `bench/mutate.py` is the command."""
