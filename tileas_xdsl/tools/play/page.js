// The page of `tileas play`: asks the server what becomes of the program, and shows the answers as they come.
const form = document.querySelector('.asked'), { text, passes, target, trip_count: turns, share } = form.elements;
const problem = form.querySelector('.problem'), state = document.querySelector('.state');
const rows = document.querySelector('.shown tbody'), stages = document.querySelector('.stages');
const numbers = form.querySelector('.editor pre'), isShared = 'shared' in document.body.dataset;
const PAUSE = 300; // milliseconds without a key, after which the program is worked out
let asking = null, answers = [], wrongLine = 0;

function number() {
  const count = text.value.split('\n').length;
  numbers.replaceChildren(...Array.from({ length: count }, (_, k) => {
    const line = document.createElement(k + 1 === wrongLine ? 'b' : 'span');
    line.textContent = k + 1 + '\n';
    return line;
  }));
  numbers.scrollTop = text.scrollTop;
}

function complain(line) {
  problem.textContent = line;
  problem.hidden = !line;
  const place = line.match(/:(\d+):\d+: error/);
  wrongLine = place ? Number(place[1]) : 0;
  number();
}

function begin(element) {
  drawTimelines(element);
  drawLargeTimelines(element);
  unfoldLines(element);
}

// Stages take the places of those of the program before, so that the page stays where the reader is.
function show(answer) {
  const at = answers.push(answer) - 1, row = document.createElement('tr'), section = document.createElement('div');
  answer.cells.forEach((cell, k) => {
    const place = row.insertCell();
    place.innerHTML = cell;
    place.className = document.querySelectorAll('.shown th')[k].className;
  });
  section.innerHTML = answer.section;
  for (const [parent, child] of [[rows, row], [stages, section]])
    parent.children[at] ? parent.children[at].replaceWith(child) : parent.append(child);
  begin(section);
}

async function* linesOf(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split('\n');
    rest = lines.pop();
    for (const line of lines) yield JSON.parse(line);
  }
}

async function ask() {
  if (asking) asking.abort();
  const mine = asking = new AbortController(), fields = {
    text: text.value, passes: passes.value, target: target.value, trip_count: turns.value,
  };
  answers = [];
  let error = '';
  state.textContent = 'working ...';
  try {
    const response = await fetch('/show', {
      method: 'POST', signal: mine.signal, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(fields),
    });
    for await (const answer of linesOf(response)) {
      if (mine !== asking) return;
      if (answer.error) error = answer.error; else show(answer);
    }
  } catch (failure) {
    if (mine !== asking) return;
    error = 'error: the server has gone: start tileas play again';
  }
  if (mine !== asking) return;
  complain(error);
  // What could not be worked out anew stays in sight, pale: it belongs to the program before.
  for (const parent of [rows, stages])
    [...parent.children].forEach((child, k) => {
      if (k < answers.length) child.classList.remove('old');
      else if (error && !answers.length) child.classList.add('old');
      else child.remove();
    });
  state.textContent = error && !answers.length ? 'of the program before' : answers.length + ' stages';
}

// A file with this page, what was asked and what was answered; it needs no server.
async function save() {
  const page = new DOMParser().parseFromString(await (await fetch('/')).text(), 'text/html');
  page.body.dataset.shared = '';
  page.querySelector('textarea').textContent = '\n' + text.value;
  page.querySelector('[name=passes]').setAttribute('value', passes.value);
  page.querySelector('[name=trip_count]').setAttribute('value', turns.value);
  for (const option of page.querySelectorAll('[name=target] option'))
    option.toggleAttribute('selected', option.value === target.value);
  page.querySelector('.problem').textContent = problem.textContent;
  page.querySelector('.problem').hidden = problem.hidden;
  page.querySelector('tbody').innerHTML = rows.innerHTML;
  page.querySelector('.stages').innerHTML = answers.map(answer => '<div>' + answer.section + '</div>').join('\n');
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob(['<!DOCTYPE html>\n', page.documentElement.outerHTML], { type: 'text/html' }));
  link.download = document.title.split(':')[0].replace(/\.\w+$/, '') + '.html';
  link.click();
}

let pause = 0;
form.addEventListener('input', event => {
  if (event.target.name === 'pass') {
    passes.value += (passes.value.trim() ? ',' : '') + event.target.value;
    event.target.value = '';
  }
  number();
  clearTimeout(pause);
  pause = setTimeout(ask, PAUSE);
});
form.addEventListener('submit', event => event.preventDefault());
text.addEventListener('scroll', () => { numbers.scrollTop = text.scrollTop; });
problem.addEventListener('click', () => {
  if (!wrongLine) return;
  const lines = text.value.split('\n'), start = lines.slice(0, wrongLine - 1).join('\n').length + (wrongLine > 1 ? 1 : 0);
  text.focus();
  text.setSelectionRange(start, start + (lines[wrongLine - 1] || '').length);
  text.scrollTop = (wrongLine - 4) * text.scrollHeight / lines.length;
});
share.addEventListener('click', save);
complain(problem.textContent);
if (isShared) {
  for (const field of form.elements) field.disabled = field !== text;
  text.readOnly = true;
  share.hidden = true;
  state.textContent = 'saved by tileas play';
} else ask();
