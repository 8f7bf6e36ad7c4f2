"""How each kind of state of the machine is drawn (see `portrait`): one room of the machine, one file."""
