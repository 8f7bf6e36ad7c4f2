// Draws timelines of many bars (large.py): what is in view, from the cycle `from` to the cycle `to`.
async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), c => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).json();
}
const drawLargeTimelines = root => root.querySelectorAll('.tlc').forEach(tl => unpacked(tl.querySelector('.tlc-data').textContent).then(data => {
  const { ROW, BAR, GAP, RULER, FONT } = data.style;
  const part = name => tl.querySelector(name), { bars, lanes, texts, until } = data, count = bars.start.length;
  const view = part('.tlc-view'), main = part('.tlc-main'), over = part('.tlc-over'), said = part('.tl-said');
  const find = part('.tlc-find input'), status = part('[role=status]'), empty = said.textContent;
  const marked = new Set(data.marked), edges = new Map();
  data.edges.forEach((edge, k) => edge.slice(0, 2).forEach(b => edges.has(b) ? edges.get(b).push(k) : edges.set(b, [k])));
  part('.tlc-room').style.height = Math.max(data.height + RULER - 1, 0) + 'px';
  tl.style.setProperty('--room', data.height + RULER + 4 + 'px');
  const rows = lanes.map(lane => Array.from({ length: lane.rows }, () => []));
  for (const b of Array.from({ length: count }, (_, b) => b).sort((a, b) => bars.start[a] - bars.start[b]))
    rows[bars.lane[b]][Math.min(bars.row[b], rows[bars.lane[b]].length - 1)].push(b);
  let from = 0, to = until, found = null, chosen = -1, waiting = false, W = 0, side = 0;
  const end = b => bars.start[b] + bars.length[b];
  const top = b => lanes[bars.lane[b]].top + GAP / 2 + bars.row[b] * ROW + (ROW - BAR) / 2;
  const x = cycle => side + (cycle - from) / (to - from) * (W - side);
  const cycle = px => from + (px - side) / (W - side) * (to - from);

  // Colours of the scheme, light or dark.
  let colour = {};
  function colours() {
    const style = getComputedStyle(document.documentElement), get = name => style.getPropertyValue(name).trim();
    for (const name of ['paper', 'ink', 'faint', 'line', 'lane', 'edge', 'step', 'scalar', 'hatch', 'bad', 'bad-paper'])
      colour[name] = get('--' + name);
    for (const n of ['-', 0, 1, 2, 3, 4, 5]) { colour['h' + n] = get('--h' + n); colour['p' + n] = get('--p' + n); }
  }
  function sized(canvas, width, height) {
    const ratio = window.devicePixelRatio || 1, pen = canvas.getContext('2d');
    canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.font = FONT; pen.textBaseline = 'middle';
    return pen;
  }
  const fitting = (pen, text, width) => {
    while (text && pen.measureText(text).width > width) text = text.slice(0, -1);
    return text;
  };

  // The window.
  function show(first, last) {
    const span = Math.min(Math.max(last - first, 8), until);
    from = Math.min(Math.max(first, 0), until - span); to = from + span;
    tl.dataset.from = Math.round(from); tl.dataset.to = Math.round(to);
    later();
  }
  const zoom = (factor, at = (from + to) / 2) => show(at - (at - from) * factor, at + (to - at) * factor);
  const move = share => show(from + share * (to - from), to + share * (to - from));
  function later() { if (!waiting) { waiting = true; requestAnimationFrame(() => { waiting = false; draw(); overview(); }); } }

  function tickStep() {
    for (let power = 1; ; power *= 10) for (const f of [1, 2, 5]) if (f * power / (to - from) * (W - side) >= 80) return f * power;
  }
  function draw() {
    W = view.clientWidth; side = Math.min(132, Math.round(W * 0.28));
    const H = view.clientHeight, pen = sized(main, W, H), shift = RULER - view.scrollTop, step = tickStep();
    pen.fillStyle = colour.paper; pen.fillRect(0, 0, W, H);
    lanes.forEach((lane, k) => {
      const y = lane.top + shift;
      if (y > H || y + lane.height < RULER) return;
      pen.fillStyle = colour.lane; pen.fillRect(0, y, W, lane.height - 1);
      pen.fillStyle = colour.line; pen.fillRect(0, y + lane.height - 1, W, 1);
      rows[k].forEach((row, r) => paint(pen, row, y + GAP / 2 + r * ROW + (ROW - BAR) / 2));
    });
    if (chosen >= 0) light(pen, shift);
    lanes.forEach(lane => {
      const y = lane.top + shift;
      if (y > H || y + lane.height < RULER) return;
      pen.fillStyle = colour.lane; pen.fillRect(0, y, side, lane.height - 1);
      pen.fillStyle = colour.ink; pen.fillText(fitting(pen, lane.name, side - 16), 10, y + 12);
      pen.fillStyle = colour.faint; pen.fillText(fitting(pen, lane.note, side - 16), 10, y + 26);
    });
    pen.fillStyle = colour.paper; pen.fillRect(0, 0, W, RULER);
    for (let t = Math.ceil(from / step) * step; t <= to; t += step) {
      pen.fillStyle = colour.line; pen.fillRect(x(t), 0, 1, RULER);
      const number = t.toLocaleString('en');
      if (x(t) + 4 + pen.measureText(number).width > W) continue;
      pen.fillStyle = colour.faint; pen.fillText(number, x(t) + 4, RULER / 2);
    }
    pen.fillStyle = colour.line; pen.fillRect(0, RULER - 1, W, 1); pen.fillRect(side, 0, 1, H);
  }
  // Bars of one row: wide ones as they are, of the narrow ones the share of each pixel that they take.
  function paint(pen, row, y) {
    const share = new Float32Array(W + 2), hit = new Uint8Array(W + 2);
    for (const b of row) {
      if (bars.start[b] > to) break;
      if (end(b) < from) continue;
      const a = x(bars.start[b]), width = x(end(b)) - a, is = found === null || found.has(b);
      if (width < 2 && !marked.has(b)) {
        const px = Math.max(Math.floor(a), 0);
        share[px] += Math.max(width * strength(b), 0.15);
        if (found !== null && is) hit[px] = 1;
        continue;
      }
      pen.globalAlpha = is ? 1 : 0.18;
      whole(pen, b, a, Math.max(width, 3), y);
      pen.globalAlpha = 1;
    }
    for (let px = side; px <= W; px++) {
      if (!share[px]) continue;
      pen.fillStyle = hit[px] ? colour.ink : colour.step;
      pen.globalAlpha = hit[px] ? 1 : Math.min(1, 0.15 + share[px]) * (found === null ? 1 : 0.3);
      pen.fillRect(px, y, 1, BAR);
    }
    pen.globalAlpha = 1;
  }
  // How much of a bar is drawn strong; what is pale counts for a third.
  function strength(b) {
    const isPlain = ['step', 'scalar', 'stall', 'blocked'].includes(texts[bars.kind[b]]);
    return isPlain || !bars.length[b] ? 1 : (1 + 2 * bars.strong[b] / bars.length[b]) / 3;
  }
  function whole(pen, b, a, width, y) {
    const kind = texts[bars.kind[b]], hue = bars.hue[b] < 0 ? '-' : bars.hue[b];
    const plain = { step: colour.step, scalar: colour.scalar, stall: colour.hatch, blocked: colour['bad-paper'] }[kind];
    const left = Math.max(a, side - 2), right = Math.min(a + width, W + 2);
    pen.fillStyle = plain || colour['p' + hue];
    if (kind === 'stall') pen.globalAlpha *= 0.5;
    pen.fillRect(left, y, right - left - (width > 4 ? 0.7 : 0), BAR);
    if (!plain && bars.length[b]) {
      pen.fillStyle = colour['h' + hue];
      pen.fillRect(left, y, Math.max(0, Math.min(a + width * bars.strong[b] / bars.length[b], right) - left), BAR);
    }
    if (kind === 'blocked' || marked.has(b)) {
      pen.strokeStyle = colour.bad; pen.lineWidth = 2; pen.strokeRect(left + 1, y + 1, right - left - 2, BAR - 2);
    }
    if (right - left > 26 && kind !== 'step' && kind !== 'scalar') {
      pen.fillStyle = kind === 'blocked' ? colour.bad : kind === 'stall' ? colour.faint : colour.ink;
      pen.fillText(fitting(pen, texts[bars.label[b]], right - left - 6), left + 4, y + BAR / 2 + 1);
    }
    const number = data.witness[b];
    if (number) {
      pen.fillStyle = colour.bad; pen.beginPath(); pen.arc(a, y, 8, 0, 7); pen.fill();
      pen.fillStyle = colour.paper; pen.textAlign = 'center'; pen.fillText(number, a, y + 1); pen.textAlign = 'start';
    }
  }
  function light(pen, shift) {
    pen.strokeStyle = colour.ink; pen.lineWidth = 1.5;
    for (const k of edges.get(chosen) || []) {
      const [source, target, start, last] = data.edges[k], down = top(source) <= top(target);
      const y1 = top(source) + shift + (down ? BAR : 0), y2 = top(target) + shift + (down ? 0 : BAR), bend = (y2 - y1) / 2;
      pen.beginPath(); pen.moveTo(x(start), y1);
      pen.bezierCurveTo(x(start), y1 + bend, x(last), y2 - bend, x(last), y2); pen.stroke();
    }
    pen.lineWidth = 2;
    pen.strokeRect(x(bars.start[chosen]), top(chosen) + shift, Math.max(x(end(chosen)) - x(bars.start[chosen]), 3), BAR);
  }

  // The overview: the whole run, small, and the window in it.
  let small = null;
  function smallPicture(width, height) {
    const share = new Float32Array(width * height), strong = new Uint8Array(width * height);
    for (let b = 0; b < count; b++) {
      const kind = texts[bars.kind[b]];
      if (kind === 'stall') continue;
      const y = Math.min(height - 1, Math.floor(bars.lane[b] / lanes.length * height));
      const a = bars.start[b] / until * width, z = Math.max(end(b) / until * width, a + 0.05);
      for (let px = Math.floor(a); px <= Math.min(Math.floor(z), width - 1); px++) {
        share[y * width + px] += Math.min(z, px + 1) - Math.max(a, px);
        if (marked.has(b)) strong[y * width + px] = 2; else if (found !== null && found.has(b)) strong[y * width + px] = 1;
      }
    }
    const tall = Math.max(1, Math.ceil(64 / height)), canvas = document.createElement('canvas');
    canvas.width = width; canvas.height = height;
    const pen = canvas.getContext('2d');
    for (let y = 0; y < height; y++) for (let px = 0; px < width; px++) {
      const s = share[y * width + px];
      if (!s) continue;
      const kind = strong[y * width + px];
      pen.fillStyle = kind === 2 ? colour.bad : kind === 1 ? colour.ink : colour.step;
      pen.globalAlpha = kind ? 1 : Math.min(1, 0.15 + s * 0.85) * (found === null ? 1 : 0.35);
      pen.fillRect(px, y, 1, 1);
    }
    return canvas;
  }
  function overview() {
    const width = over.clientWidth, height = over.clientHeight, pen = sized(over, width, height);
    if (!small || small.width !== width) small = smallPicture(width, Math.min(lanes.length, 48) || 1);
    pen.fillStyle = colour.lane; pen.fillRect(0, 0, width, height);
    pen.imageSmoothingEnabled = false; pen.drawImage(small, 0, 4, width, height - 8);
    const a = from / until * width, z = to / until * width;
    pen.fillStyle = colour.paper; pen.globalAlpha = 0.6; pen.fillRect(0, 0, a, height); pen.fillRect(z, 0, width - z, height);
    pen.globalAlpha = 1; pen.strokeStyle = colour.ink; pen.lineWidth = 2; pen.strokeRect(a + 1, 1, Math.max(z - a - 2, 3), height - 2);
  }

  // Finding and choosing.
  function search() {
    const words = find.value.trim().toLowerCase().split(/\s+/).filter(Boolean)
      .map(word => /^[0-9]+$/.test(word) ? new RegExp('\\b' + word + '\\b') : word); // a number is a whole number
    found = null;
    if (words.length) {
      const names = lanes.map(lane => lane.name.toLowerCase()), told = texts.map(text => text.toLowerCase());
      const turns = /^[is][0-9.]+$/;
      found = new Set();
      for (let b = 0; b < count; b++) {
        const turn = told[bars.turn[b]].split(' ');
        const named = told[bars.label[b]] + ' ' + names[bars.lane[b]] + ' ', text = told[bars.told[b]];
        const has = w => turns.test(w) ? turn.includes(w)
          : w instanceof RegExp ? w.test(named + text.split('\n', 1)[0]) : named.includes(w) || text.includes(w);
        if (words.every(has)) found.add(b);
      }
    }
    status.textContent = found === null ? '' : found.size.toLocaleString('en') + ' of ' + count.toLocaleString('en') + ' bars';
    small = null; later();
  }
  function choose(b) {
    chosen = b;
    if (b < 0) { said.textContent = empty; later(); return; }
    const [first, ...rest] = texts[bars.told[b]].split('\n'), strong = document.createElement('strong');
    strong.textContent = first;
    said.replaceChildren(strong, '\n' + lanes[bars.lane[b]].name + '   ·   ' + rest.join('   ·   '));
    later();
  }
  function visit(b) {
    const span = Math.min(to - from, Math.max(40 * (bars.length[b] || 1), 40)), middle = bars.start[b] + bars.length[b] / 2;
    if (bars.start[b] < from || end(b) > to || bars.length[b] / (to - from) * W < 3) show(middle - span / 2, middle + span / 2);
    const y = lanes[bars.lane[b]].top;
    if (y < view.scrollTop || y + RULER + 40 > view.scrollTop + view.clientHeight) view.scrollTop = y - view.clientHeight / 3;
    choose(b);
  }
  function next(way) {
    const among = found === null ? rows[chosen < 0 ? 0 : bars.lane[chosen]].flat() : [...found];
    among.sort((a, b) => bars.start[a] - bars.start[b] || a - b);
    if (!among.length) return;
    const at = among.indexOf(chosen);
    visit(among[at < 0 ? (way > 0 ? 0 : among.length - 1) : (at + way + among.length) % among.length]);
  }
  function barAt(px, py) {
    const y = py - RULER + view.scrollTop, k = lanes.findIndex(lane => y >= lane.top && y < lane.top + lane.height);
    if (k < 0 || px < side) return -1;
    const row = rows[k][Math.min(Math.max(Math.floor((y - lanes[k].top - GAP / 2) / ROW), 0), rows[k].length - 1)];
    const at = cycle(px), near = 4 / (W - side) * (to - from);
    const hits = row.filter(b => bars.start[b] - near <= at && at <= end(b) + near);
    return hits.length ? hits.reduce((a, b) => bars.length[b] < bars.length[a] ? b : a) : -1;
  }

  // Mouse, finger, keys.
  let held = null;
  view.addEventListener('pointerdown', e => { held = { x: e.clientX, from, to, moved: false }; });
  view.addEventListener('pointermove', e => {
    if (!held || !(e.buttons || e.pointerType === 'touch')) return;
    const by = (held.x - e.clientX) / (W - side) * (held.to - held.from);
    if (Math.abs(held.x - e.clientX) > 4) held.moved = true;
    if (held.moved) show(held.from + by, held.to + by);
  });
  view.addEventListener('pointerup', e => {
    const box = main.getBoundingClientRect();
    if (held && !held.moved) choose(barAt(e.clientX - box.left, e.clientY - box.top));
    held = null;
  });
  view.addEventListener('pointercancel', () => { held = null; });
  view.addEventListener('wheel', e => {
    if (e.ctrlKey || e.metaKey) { e.preventDefault(); zoom(Math.exp(e.deltaY / 300), cycle(e.clientX - main.getBoundingClientRect().left)); }
    else if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) { e.preventDefault(); move(e.deltaX / (W - side)); }
  }, { passive: false });
  view.addEventListener('scroll', later);
  const place = e => { const at = (e.clientX - over.getBoundingClientRect().left) / over.clientWidth * until, half = (to - from) / 2; show(at - half, at + half); };
  over.addEventListener('pointerdown', e => { over.setPointerCapture(e.pointerId); place(e); });
  over.addEventListener('pointermove', e => { if (e.buttons) place(e); });
  view.addEventListener('keydown', e => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const does = { '+': () => zoom(1 / 1.5), '=': () => zoom(1 / 1.5), '-': () => zoom(1.5), '0': () => show(0, until), n: () => next(1), p: () => next(-1),
      ArrowLeft: () => move(-0.2), ArrowRight: () => move(0.2), Home: () => show(0, to - from), End: () => show(until - to + from, until),
      Escape: () => choose(-1), '/': () => find.focus() }[e.key];
    if (does) { e.preventDefault(); does(); }
  });
  find.addEventListener('input', search);
  find.addEventListener('keydown', e => { if (e.key === 'Enter') next(e.shiftKey ? -1 : 1); });
  part('.tlc-next').onclick = () => next(1);
  part('.tlc-before').onclick = () => next(-1);
  part('.tl-in').onclick = () => zoom(1 / 1.5);
  part('.tl-out').onclick = () => zoom(1.5);
  part('.tl-fit').onclick = () => show(0, until);
  for (const step of tl.querySelectorAll('li[data-bar]')) step.onclick = () => visit(data.numbers[step.dataset.bar] ?? 0);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { colours(); small = null; later(); });
  new ResizeObserver(later).observe(view);
  colours();
  show(0, until);
}));
drawLargeTimelines(document);
