"""
What is wrong with the links of rendered pages: a file or an anchor that is not there, or something that a browser would
fetch from elsewhere. Links that a reader may follow to other sites are not followed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

FETCHED = {
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "link": "href",
    "object": "data",
    "use": "href",
}
"""Tag -> the attribute that names what a browser loads by itself."""
NOT_FETCHED = {"canonical", "next", "prev", "alternate"}
"""Values of `rel` with which a `link` names another page."""


@dataclass
class Page(HTMLParser):
    """The anchors of a page, what it links to, and what it loads."""

    anchors: set[str] = field(default_factory=set[str])
    links: list[str] = field(default_factory=list[str])
    loads: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        attribute = FETCHED.get(tag)
        if attribute in given and given.get("rel") not in NOT_FETCHED:
            self.loads.append(given[attribute])


def faults(site: Path) -> list[str]:
    """One line for each link of the pages below `site` that leads nowhere, and each thing fetched from elsewhere."""
    pages = {path.resolve(): read(path) for path in sorted(site.rglob("*.html"))}
    found: list[str] = []
    for path, page in pages.items():
        name = path.relative_to(site.resolve())
        found += [f"{name}: loads {address}" for address in page.loads if urlsplit(address).netloc]
        addresses = dict.fromkeys(page.links + page.loads)
        found += [
            f"{name}: leads nowhere: {address}"
            for address in addresses
            if not leads(path, address, pages, site.resolve())
        ]
    return found


def read(path: Path) -> Page:
    """What the page in `path` has and wants."""
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def leads(path: Path, address: str, pages: dict[Path, Page], site: Path) -> bool:
    """Whether `address`, on the page in `path`, is elsewhere or there."""
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return True
    target = path
    if parts.path:
        start = site if parts.path.startswith("/") else path.parent
        target = (start / unquote(parts.path).lstrip("/")).resolve()
        target = target / "index.html" if target.is_dir() else target
    if not target.is_file():
        return False
    anchor = unquote(parts.fragment)
    return not anchor or target not in pages or anchor in pages[target].anchors or anchor.startswith("__")
