"""The rows of the one table of instructions (`lowering.TABLE`), one file a family."""
