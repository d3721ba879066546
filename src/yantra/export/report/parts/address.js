// The question in the address of the page: reload and a link ask the same. It is behind the "#",
// so it is not sent to the server by loading the page, and may be long.

const OWN = "own";

// Returns what controls say, without texts that do not count.
export function questionOf(form) {
  const question = Object.fromEntries(new FormData(form));
  for (const name of ["model", "cluster"]) {
    const own = `${OWN}_${name}`;
    if (own in question && question[name] !== OWN) question[own] = "";
  }
  return question;
}

// What is empty is left out, unless the page would fill it again.
function hashOf(question, form) {
  const isSaid = ([name, value]) => value !== "" || Boolean(form.elements[name]?.defaultValue);
  const said = Object.entries(question).filter(isSaid);
  return `#${new URLSearchParams(said)}`;
}

// Returns the question of the address, null where it has none.
export function questionInAddress() {
  if (!location.hash.includes("=")) return null;
  return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
}

// Keeps a question in the address, as a step that the browser can go back from.
export function remember(question, form) {
  const hash = hashOf(question, form);
  if (hash === location.hash) return;
  if (questionInAddress() === null) history.replaceState(null, "", hash);
  else history.pushState(null, "", hash);
}
