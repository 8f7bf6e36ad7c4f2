// The page of a notebook: its controls, and the panes of the state that they choose. The states come with the page.
(function () {
  document.querySelectorAll("div.notebook").forEach(start);

  async function start(place) {
    const bytes = Uint8Array.from(atob(window.NOTEBOOKS[place.id]), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const data = JSON.parse(await new Response(stream).text());
    const bar = document.createElement("div");
    bar.className = "notebook-controls";
    const panes = document.createElement("div");
    panes.setAttribute("aria-live", "polite");
    const inputs = data.controls.map((control) => {
      const label = document.createElement("label");
      const input = typeof control.values[0] === "number" ? slider(control) : choice(control);
      label.append(control.name + " ", input.element, ...input.beside);
      bar.append(label);
      return input.element;
    });
    place.replaceChildren(bar, panes);

    function show() {
      let state = 0;
      inputs.forEach((input, k) => (state = state * data.controls[k].values.length + Number(input.value)));
      panes.replaceChildren(...data.states[state].flatMap((pane) => drawn(data.panes[pane])));
    }
    bar.addEventListener("input", show);
    show();
    place.dataset.ready = "yes";
  }

  // Both have the index of a value as their value.
  function choice(control) {
    const element = document.createElement("select");
    control.values.forEach((value, k) => element.add(new Option(value, k, k === control.at, k === control.at)));
    return { element, beside: [] };
  }

  function slider(control) {
    const element = document.createElement("input");
    const output = document.createElement("output");
    Object.assign(element, { type: "range", min: 0, max: control.values.length - 1, step: 1, value: control.at });
    const say = () => (output.textContent = control.values[element.value]);
    element.addEventListener("input", say);
    say();
    return { element, beside: [output] };
  }

  function drawn(pane) {
    const heading = document.createElement("h3");
    heading.textContent = pane.title;
    if (pane.kind === "picture") {
      const frame = document.createElement("div");
      frame.className = "notebook-picture";
      const image = document.createElement("img");
      image.alt = pane.title;
      image.src = "data:image/svg+xml," + encodeURIComponent(pane.text);
      frame.append(image);
      return [heading, frame];
    }
    const text = document.createElement("pre");
    const lit = new Set(pane.lit);
    pane.text.split("\n").forEach((line, k) => {
      const element = document.createElement(lit.has(k + 1) ? "mark" : "span");
      element.textContent = line + "\n";
      text.append(element);
    });
    return [heading, text];
  }
})();
