// The course: which exercises the reader has solved. A box below each chapter keeps it in the browser, and marks show it.
(function () {
  const chapter = /course\/(\d\d)-[\w-]+\.html$/;
  const box = Array.from(document.querySelectorAll("article table")).find(
    (table) => table.rows[0].cells[0].textContent.trim() === "chapter"
  );
  const here = chapter.exec(location.pathname);

  function solved(number, value) {
    const key = "tileas-course-" + number;
    try {
      if (value !== undefined) localStorage.setItem(key, value ? "solved" : "");
      return localStorage.getItem(key) === "solved";
    } catch {
      return Boolean(value); // a browser that keeps nothing
    }
  }

  function mark() {
    document.querySelectorAll(".md-nav__link[href], article table a[href]").forEach((link) => {
      const found = chapter.exec(link.pathname || "");
      if (found) link.classList.toggle("course-solved", solved(found[1]));
    });
    if (!bar) return;
    const links = Array.from(box.querySelectorAll("a[href]")).filter((link) => chapter.test(link.pathname));
    const done = links.filter((link) => link.classList.contains("course-solved")).length;
    bar.firstChild.max = links.length;
    bar.firstChild.value = done;
    bar.lastChild.textContent = " " + done + " of " + links.length + " solved";
  }

  let bar = null;
  if (box && location.pathname.endsWith("course/index.html")) {
    bar = document.createElement("p");
    bar.id = "course-progress";
    bar.append(document.createElement("progress"), document.createElement("span"));
    bar.firstChild.setAttribute("aria-label", "solved exercises");
    const place = box.closest(".md-typeset__scrollwrap") || box;
    place.parentNode.insertBefore(bar, place);
  }
  if (here) {
    const label = document.createElement("label");
    const input = document.createElement("input");
    input.type = "checkbox";
    input.id = "course-is-solved";
    input.checked = solved(here[1]);
    input.addEventListener("change", () => {
      solved(here[1], input.checked);
      mark();
    });
    label.append(input, " The exercise is solved");
    const line = document.createElement("p");
    line.append(label);
    document.querySelector("article").append(line);
  }
  mark();
})();
