"""
A timeline as an HTML page that scrolls, scales and says what each bar is. It is one file and loads nothing else.

A page with several timelines has their style and script once. The script scales, and says what a bar is;
without it the page still scrolls.

All lengths along the time axis are multiples of `--z`, the pixels of one cycle, so scaling is setting one variable.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from tileas_xdsl.views.timeline.large import HINT, large_section
from tileas_xdsl.views.timeline.large import style_and_script as large_style_and_script
from tileas_xdsl.views.timeline.picture import BLOCKED, SCALAR, STALL, STEP, Bar, Edge, Mark, Timeline
from tileas_xdsl.views.timeline.style import (
    BAR,
    FONT,
    LANE_GAP,
    ROW,
    RULER,
    SCHEMES,
    LanePlace,
    bar_top,
    headline,
    hue_name,
    lane_places,
    long_label,
    pixels_per_cycle,
    tick_step,
)
from tileas_xdsl.views.timeline.svg import explained

STYLE = (
    SCHEMES
    + f"""
*{{box-sizing:border-box}}
body{{margin:0;background:var(--paper);color:var(--ink);font:14px/1.45 {FONT};-webkit-text-size-adjust:100%}}
.tl{{margin:0 0 20px}}
.tl-top{{display:flex;flex-wrap:wrap;gap:6px 14px;align-items:center;padding:10px 14px}}
.tl-top h2{{font-size:16px;margin:0 auto 0 0}}
.tl-keys button{{font:inherit;min-width:38px;height:34px;border:1px solid var(--line);border-radius:6px;
background:var(--lane);color:var(--ink);cursor:pointer}}
.tl-keys button:focus-visible,.bar:focus-visible{{outline:2px solid var(--ink);outline-offset:1px}}
.tl-facts{{display:flex;flex-wrap:wrap;gap:6px;padding:0 14px 10px;color:var(--faint);font-size:13px}}
.tl-facts span{{border:1px solid var(--line);border-radius:999px;padding:1px 10px}}
.tl-view{{overflow:auto;border:1px solid var(--line);border-width:1px 0;position:relative;
overscroll-behavior-x:contain;max-height:80vh}}
.tl-all{{position:relative;width:calc(var(--side) + var(--n)*var(--z) + 40px);min-width:100%}}
.tl-ruler{{position:sticky;top:0;height:{RULER}px;z-index:4;background:var(--paper);
border-bottom:1px solid var(--line)}}
.tl-ruler span{{position:absolute;left:calc(var(--side) + var(--a)*var(--z));border-left:1px solid var(--line);
padding:3px 0 0 4px;height:100%;font-size:11px;color:var(--faint);white-space:nowrap}}
.tl-lane{{position:relative;border-bottom:1px solid var(--line);background:var(--lane)}}
.tl-name{{position:sticky;left:0;width:var(--side);height:100%;z-index:3;background:var(--lane);padding:6px 4px 0 12px;
border-right:1px solid var(--line);font-size:12px;line-height:1.25;overflow:hidden;text-overflow:ellipsis;
white-space:nowrap}}
.tl-name small{{display:block;color:var(--faint);font-size:11px}}
.tl-edges{{position:absolute;left:var(--side);top:{RULER}px;width:calc(var(--n)*var(--z));z-index:1;pointer-events:none;
overflow:visible}}
.tl-edges path{{fill:none;stroke:var(--edge);stroke-width:1;vector-effect:non-scaling-stroke;opacity:.65}}
.tl-edges .arrives,.tl-edges .forks{{stroke-dasharray:4 3}}
.tl-edges .lit{{stroke:var(--ink);stroke-width:2;opacity:1}}
.bar{{position:absolute;left:calc(var(--side) + var(--a)*var(--z));
width:max(1px,calc(var(--b)*var(--z)));height:{BAR}px;border-radius:3px;overflow:hidden;z-index:2;white-space:nowrap;font-size:11px;line-height:{BAR}px;cursor:pointer;
color:var(--ink);background:var(--p,var(--f));container-type:inline-size}}
@container (max-width:30px){{.bar b{{visibility:hidden}}}}
.bar i{{position:absolute;left:0;top:0;bottom:0;width:var(--o);background:var(--f);border-radius:3px}}
.bar b{{position:relative;display:block;font-weight:400;padding:0 4px;overflow:hidden;text-overflow:ellipsis}}
.bar.lit{{outline:2px solid var(--ink);z-index:3}}
.step{{--f:var(--step);border-radius:0;box-shadow:inset 1px 0 0 var(--lane)}}
.scalar{{--f:var(--scalar);border-radius:0}}
.stall{{color:var(--faint);background:repeating-linear-gradient(135deg,var(--hatch) 0 2px,transparent 2px 7px)}}
.blocked{{background:var(--bad-paper);border:1px solid var(--bad);color:var(--bad)}}
.marked{{min-width:6px;z-index:3}}
.marked::after{{content:"";position:absolute;inset:0;border:2px solid var(--bad);border-radius:3px}}
.num{{position:absolute;left:calc(var(--side) + var(--a)*var(--z) - 8px);width:16px;height:16px;border-radius:8px;
background:var(--bad);color:var(--paper);font:10px/16px {FONT};text-align:center;z-index:3;pointer-events:none}}
.tl-said{{min-height:58px;padding:8px 14px;font-size:13px;color:var(--faint);white-space:pre-line;
overflow-wrap:anywhere}}
.tl-said strong{{color:var(--ink)}}
.tl-flag{{margin:0 14px 10px;padding:6px 12px;border-left:4px solid var(--bad);background:var(--bad-paper);
color:var(--bad);font-weight:600;overflow-wrap:anywhere}}
.tl-key{{padding:0 14px;font-size:12px;color:var(--faint)}}
.tl-bad{{margin:14px;padding:10px 12px;border:1px solid var(--bad);border-radius:8px;background:var(--bad-paper);
font-size:13px;overflow-wrap:anywhere}}
.tl-bad h3{{margin:0 0 4px;font-size:14px;color:var(--bad)}}.tl-bad ul{{margin:4px 0;padding-left:18px}}
.tl-bad ol{{margin:6px 0 0;padding:0;list-style:none}}
.tl-bad li[data-bar]{{cursor:pointer;text-decoration:underline dotted}}
.tl-bad ol b{{display:inline-block;min-width:26px;color:var(--bad)}}
"""
    + "".join(f".h{n}{{--f:var(--h{n});--p:var(--p{n})}}" for n in "-012345")
)

SCRIPT = """
function drawTimelines(root) {
  for (const tl of root.querySelectorAll('.tl:not(.tlc)')) {
    const view = tl.querySelector('.tl-view'), all = tl.querySelector('.tl-all'), said = tl.querySelector('.tl-said');
    const ruler = tl.querySelector('.tl-ruler'), until = Number(tl.dataset.until);
    const edges = new Map(), number = e => e.dataset.i;
    const empty = said.textContent;
    for (const path of tl.querySelectorAll('.tl-edges path'))
      for (const end of [path.dataset.a, path.dataset.b])
        edges.has(end) ? edges.get(end).push(path) : edges.set(end, [path]);
    const side = () => tl.querySelector('.tl-name') ? tl.querySelector('.tl-name').offsetWidth : 0;
    const whole = () => (view.clientWidth - side() - 44) / until;
    let scale = Number(tl.dataset.z);
    function ticks() {
      let power = 1, step = 0;
      while (!step) { step = [1, 2, 5].map(f => f * power).find(s => s * scale >= 90) || 0; power *= 10; }
      const first = Math.max(0, Math.floor(view.scrollLeft / scale / step) - 1);
      const last = Math.min(Math.floor(until / step), first + Math.ceil(view.clientWidth / scale / step) + 2);
      ruler.replaceChildren();
      for (let k = first; k <= last; k++) {
        const tick = document.createElement('span');
        tick.style.setProperty('--a', k * step);
        tick.textContent = (k * step).toLocaleString('en');
        ruler.append(tick);
      }
    }
    function zoom(to, at = view.clientWidth / 2) {
      const before = (view.scrollLeft + at - side()) / scale;
      scale = Math.min(Math.max(to, whole() / 2), 60);
      tl.style.setProperty('--z', scale + 'px');
      view.scrollLeft = before * scale - at + side();
      ticks();
    }
    tl.querySelector('.tl-in').onclick = () => zoom(scale * 1.5);
    tl.querySelector('.tl-out').onclick = () => zoom(scale / 1.5);
    tl.querySelector('.tl-fit').onclick = () => { zoom(whole()); view.scrollLeft = 0; ticks(); };
    view.addEventListener('wheel', e => {
      if (!e.ctrlKey && !e.metaKey) return;
      e.preventDefault();
      zoom(scale * Math.exp(-e.deltaY / 300), e.clientX - view.getBoundingClientRect().left);
    }, { passive: false });
    view.addEventListener('scroll', () => requestAnimationFrame(ticks));
    let lit = [];
    function tell(bar) {
      lit.forEach(x => x.classList.remove('lit'));
      lit = bar ? [bar, ...(edges.get(number(bar)) || [])] : [];
      lit.forEach(x => x.classList.add('lit'));
      if (!bar) { said.textContent = empty; return; }
      const [first, ...rest] = bar.title.split('\\n'), strong = document.createElement('strong');
      strong.textContent = first;
      said.replaceChildren(strong, '\\n' + rest.join('   ·   '));
    }
    all.addEventListener('click', e => tell(e.target.closest('.bar')));
    all.addEventListener('keydown', e => { if (e.key === 'Enter') tell(e.target.closest('.bar')); });
    tl.addEventListener('keydown', e => {
      if (e.ctrlKey || e.metaKey || e.altKey) return;
      if (e.key === '+' || e.key === '=') zoom(scale * 1.5);
      if (e.key === '-') zoom(scale / 1.5);
      if (e.key === '0') { zoom(whole()); view.scrollLeft = 0; ticks(); }
    });
    for (const step of tl.querySelectorAll('li[data-bar]')) {
      step.onclick = () => {
        const bar = all.querySelector('.bar[data-i="' + step.dataset.bar + '"]');
        tell(bar);
        view.scrollLeft = bar.offsetLeft - view.clientWidth / 2;
        bar.focus({ preventScroll: true });
      };
    }
    if (scale < whole()) zoom(whole());
    ticks();
  }
}
drawTimelines(document);
"""


LEAST, MOST = 300, 60_000
MOST_TICKS = 400
WIDE_LETTER = 7.4
"""The width of a letter of a lane's name."""
MOST_ELEMENTS = 1_000
"""Bars up to which each is an element of the page; more are drawn on a canvas."""
KEY = (
    "Strong: occupies its engine. Pale: in flight, not complete. Hatched: stands still. Dark: issues, arrivals, waits. "
    "Bars of one slot, or else of one iteration, have one colour. Ctrl and the wheel, or + and -, scale."
)


def timeline_html(picture: Timeline) -> str:
    """`picture` as the text of an HTML file."""
    style, script = style_and_script([picture])
    return html_page(headline(picture), timeline_section(picture), style, script)


def style_and_script(pictures: Sequence[Timeline]) -> tuple[str, str]:
    """What a page with sections for `pictures` needs, once."""
    return style_and_script_of_all() if any(is_large(picture) for picture in pictures) else (STYLE, SCRIPT)


def style_and_script_of_all() -> tuple[str, str]:
    """For a page of any timelines; `drawTimelines` and `drawLargeTimelines` begin those in an element."""
    style, script = large_style_and_script()
    return STYLE + style, SCRIPT + script


def is_large(picture: Timeline) -> bool:
    """Whether a picture is drawn on a canvas."""
    return len(picture.bars) > MOST_ELEMENTS


def html_page(title: str, body: str, style: str, script: str) -> str:
    """A page that holds everything it needs."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n{body}\n"
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def timeline_section(picture: Timeline, level: int = 2, *, with_key: bool = True) -> str:
    """The part of a page that shows `picture`: its heading has `level`; `with_key` says what strong and pale mean."""
    flags = "".join(f'<p class="tl-flag">{escape(f"{mark.kind}: {mark.message}")}</p>' for mark in picture.marks)
    details = "\n".join(map(_violation, picture.marks))
    if is_large(picture):
        return large_section(picture, level, flags=flags, details=details, with_key=with_key)
    scale = pixels_per_cycle(picture, LEAST, MOST)
    names = max((max(len(lane.name), len(lane.note)) for lane in picture.lanes), default=0)
    side = min(round(names * WIDE_LETTER) + 24, 132)
    places, height = lane_places(picture.lanes)
    places = [LanePlace(place.top - RULER, place.height) for place in places]
    bars: list[list[str]] = [[] for _ in picture.lanes]
    for bar in picture.bars:
        bars[bar.lane].append(_bar(bar))
    lanes = [
        f'<div class="tl-lane" style="height:{lane.rows * ROW + LANE_GAP}px"><div class="tl-name">{escape(lane.name)}'
        f"<small>{escape(lane.note)}</small></div>{''.join(bars[number])}</div>"
        for number, lane in enumerate(picture.lanes)
    ]
    edges = "".join(
        _edge(edge, picture, [bar_top(bar, places) for bar in _ends(edge, picture)]) for edge in picture.edges
    )
    step = max(tick_step(scale), tick_step(MOST_TICKS / picture.until, 1))
    ticks = "".join(f'<span style="--a:{t}">{t:,}</span>' for t in range(0, picture.until + 1, step))
    style = f"--z:{scale:.5g}px;--n:{picture.until};--side:{side}px"
    return "\n".join(
        [
            f'<section class="tl" style="{style}" data-z="{scale:.5g}" data-until="{picture.until}">',
            f'<div class="tl-top"><h{level}>{escape(headline(picture))}</h{level}>'
            '<div class="tl-keys"><button class="tl-out" aria-label="smaller">&minus;</button> '
            '<button class="tl-in" aria-label="larger">+</button> <button class="tl-fit">whole</button></div></div>',
            f'<div class="tl-facts">{"".join(f"<span>{escape(fact)}</span>" for fact in _facts(picture))}</div>',
            flags,
            f'<div class="tl-view" tabindex="0" role="region" aria-label="timeline"><div class="tl-all">'
            f'<div class="tl-ruler">{ticks}</div>',
            f'<svg class="tl-edges" height="{height - RULER}" viewBox="0 0 {picture.until} {height - RULER}" '
            f'preserveAspectRatio="none" aria-hidden="true">{edges}</svg>',
            *lanes,
            "</div></div>",
            f'<div class="tl-said" aria-live="polite">{HINT}</div>',
            f'<div class="tl-key">{KEY}</div>' if with_key else "",
            details,
            "</section>",
        ]
    )


def _facts(picture: Timeline) -> list[str]:
    return [f"{lane.name} {lane.note}" for lane in picture.lanes]


def _ends(edge: Edge, picture: Timeline) -> tuple[Bar, Bar]:
    return picture.bars[edge.source], picture.bars[edge.target]


def _bar(bar: Bar) -> str:
    top = LANE_GAP // 2 + bar.row * ROW + (ROW - BAR) // 2
    plain = bar.kind in (STEP, SCALAR, STALL, BLOCKED)
    names = ["bar", bar.kind, *([] if plain else [f"h{hue_name(bar)}"]), *(["marked"] if bar.marks else [])]
    strong = (bar.freed - bar.start) / (bar.end - bar.start) if bar.end > bar.start else 1
    inner = "" if plain else f'<i style="--o:{100 * strong:.4g}%"></i>'
    label = "" if bar.kind in (STEP, SCALAR) else f"<b>{escape(long_label(bar))}</b>"
    badge = f'<span class="num" style="--a:{bar.start};top:{top - 8}px">{bar.witness[0]}</span>' if bar.witness else ""
    return (
        f'<div class="{" ".join(names)}" data-i="{bar.number}" tabindex="-1" title="{escape(explained(bar))}" '
        f'style="--a:{bar.start};--b:{bar.end - bar.start};top:{top}px">{inner}{label}</div>{badge}'
    )


def _edge(edge: Edge, picture: Timeline, tops: list[int]) -> str:
    down = tops[0] <= tops[1]
    start, end = (tops[0] + BAR, tops[1]) if down else (tops[0], tops[1] + BAR)
    bend = (end - start) // 2
    return (
        f'<path class="{edge.kind}" data-a="{edge.source}" data-b="{edge.target}" d="M{edge.start} {start}'
        f'C{edge.start} {start + bend} {edge.end} {end - bend} {edge.end} {end}"/>'
    )


def _violation(mark: Mark) -> str:
    parties = "".join(f"<li>{escape(party)}</li>" for party in mark.parties)
    steps = "".join(_step(*step) for step in mark.steps)
    witness = f"<details open><summary>witness</summary><ol>{steps}</ol></details>" if steps else ""
    return (
        f'<div class="tl-bad"><h3>{escape(mark.kind)}: {escape(mark.message)}</h3><ul>{parties}</ul>'
        f"<div>missing: {escape(mark.missing)}</div>{witness}</div>"
    )


def _step(label: str, text: str, bar: int | None) -> str:
    leads_to = f' data-bar="{bar}"' if bar is not None else ""
    return f"<li{leads_to}><b>{escape(label)}</b> {escape(text)}</li>"
