"""What the site is made of: its plan, its generated pages, and the check of what was rendered."""
