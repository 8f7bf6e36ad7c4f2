// The filter of the zoo: by kind, by level, and by words of the title. Without it the whole table is there.
(function () {
  const table = Array.from(document.querySelectorAll("article table")).find(
    (candidate) => candidate.rows[0].cells[0].textContent.trim() === "exhibit"
  );
  if (!table) return;
  const rows = Array.from(table.tBodies[0].rows);
  const bar = document.createElement("div");
  bar.className = "zoo-filter";
  const said = document.createElement("span");
  said.setAttribute("role", "status");

  function choice(name, column) {
    const select = document.createElement("select");
    select.setAttribute("aria-label", name);
    select.id = "zoo-" + name;
    const values = Array.from(new Set(rows.map((row) => row.cells[column].textContent.trim()))).sort();
    select.add(new Option("any " + name, ""));
    values.forEach((value) => select.add(new Option(value, value)));
    bar.append(select);
    return (row) => !select.value || row.cells[column].textContent.trim() === select.value;
  }

  const tests = [choice("kind", 1), choice("level", 2)];
  const words = document.createElement("input");
  words.type = "search";
  words.id = "zoo-words";
  words.placeholder = "title or project";
  words.setAttribute("aria-label", "words");
  bar.append(words, said);
  tests.push((row) => row.textContent.toLowerCase().includes(words.value.trim().toLowerCase()));

  function filter() {
    rows.forEach((row) => (row.hidden = !tests.every((test) => test(row))));
    const shown = rows.filter((row) => !row.hidden).length;
    said.textContent = shown + " of " + rows.length;
  }
  bar.addEventListener("input", filter);
  const place = table.closest(".md-typeset__scrollwrap") || table;
  place.parentNode.insertBefore(bar, place);
  filter();
})();
