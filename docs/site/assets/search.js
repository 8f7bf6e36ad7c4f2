// Search takes a dash before a word for "without"; whoever writes `--trip-count` looks for that option.
document.addEventListener("keyup", (event) => {
  const input = event.target;
  if (!(input instanceof HTMLInputElement) || !input.matches(".md-search__input")) return;
  const words = input.value.replace(/(^|\s)-+(?=\w)/g, "$1");
  if (words !== input.value) input.value = words;
}, true);
