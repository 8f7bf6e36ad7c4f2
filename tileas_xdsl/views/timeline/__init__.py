"""
The picture of an execution in time: agents and engines as lanes, what they do as bars.

`timeline(timed_run)` makes the picture; `svg.timeline_svg`, `html.timeline_html` and `chrome.chrome_trace` write it
down.
"""

from __future__ import annotations

from tileas_xdsl.views.timeline.picture import Bar, Edge, Lane, Mark, Timeline, timeline

__all__ = ["Bar", "Edge", "Lane", "Mark", "Timeline", "timeline"]
