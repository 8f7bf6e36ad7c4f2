"""Files of bytecode of Tile IR, as the commands read and write them."""
