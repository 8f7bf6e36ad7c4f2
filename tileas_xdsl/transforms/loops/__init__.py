"""The loop expander, for all passes that peel loops or overlap their iterations."""
