"""Passes about tokens: `async.execute` and the regions of `async_region`."""
