"""
A timeline that shows itself in a notebook: as the page that scrolls and scales, or as a picture.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tileas_xdsl.tabular import Tabular
from tileas_xdsl.views.notebook import page_tag
from tileas_xdsl.views.timeline.chrome import chrome_trace
from tileas_xdsl.views.timeline.html import timeline_html
from tileas_xdsl.views.timeline.picture import Timeline
from tileas_xdsl.views.timeline.style import headline, lane_places
from tileas_xdsl.views.timeline.svg import timeline_svg

ROOM_AROUND = 260
"""Pixels of a page above and below the lanes: its heading, its key, and what is said of a bar."""


@dataclass(repr=False)
class ShownTimeline(Timeline, Tabular):
    """A timeline with the three forms that a notebook asks for."""

    @classmethod
    def of(cls, picture: Timeline) -> ShownTimeline:
        """The same timeline, which can show itself."""
        return cls(**vars(picture))

    def svg(self, width: int | None = None) -> str:
        """The picture as the text of an SVG file; `width` pixels, else as its bars need."""
        return timeline_svg(self, width)

    def __repr__(self) -> str:
        return f"Timeline({headline(self)}; {len(self.lanes)} lanes, {len(self.bars)} bars)"

    def rows(self) -> list[dict[str, Any]]:
        """A row for each bar."""
        lanes = [lane.name for lane in self.lanes]
        return [
            {"lane": lanes[bar.lane], "what": bar.label, "op": bar.op, "start": bar.start, "end": bar.end}
            for bar in self.bars
        ]

    def to_dict(self) -> dict[str, Any]:
        """What `tileas timeline -o OUT.json` writes."""
        return chrome_trace(self)

    def _repr_svg_(self) -> str:
        return self.svg()

    def _repr_html_(self) -> str:
        return page_tag(timeline_html(self), lane_places(self.lanes)[1] + ROOM_AROUND)
