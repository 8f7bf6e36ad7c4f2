"""The hardware threads of an agent: which they are, what differs between them, and the warps of a block."""
