"""Passes that look and rewrite nothing: what they find is an error or a remark."""
