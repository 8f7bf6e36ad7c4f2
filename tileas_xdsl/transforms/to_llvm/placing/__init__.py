"""How `tileas-place-tiles` rewrites: loads and operands that become explicit, and tiles that take turns in slots."""
