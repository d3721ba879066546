// The controls of a job: sliders that set numbers, texts of one's own, and what is wrong with each.

import { byId } from "./dom.js";

const OWN = "own";
const lastKnown = {}; // what was chosen last by name, to begin an own text with

export function form() {
  return byId("controls");
}

function sliders() {
  return document.querySelectorAll("input[data-sets]");
}

function boxOf(slider) {
  return form().elements[slider.dataset.sets];
}

// Sets the number of a slider.
function set(slider) {
  const number = 2 ** slider.value;
  boxOf(slider).value = number;
  slider.setAttribute("aria-valuetext", number);
}

// Moves a slider to the power of two that is nearest to its number.
function follow(slider) {
  const number = boxOf(slider).value;
  if (number > 0) slider.value = Math.round(Math.log2(number));
  slider.setAttribute("aria-valuetext", number || "usual");
}

// Sets controls to values by name. What a list does not have is added to it, for the server to judge.
export function apply(values) {
  for (const [name, value] of Object.entries(values)) {
    const control = form().elements[name];
    if (control === undefined) continue;
    const options = control.tagName === "SELECT" ? [...control.options] : null;
    if (options !== null && !options.some((option) => option.value === value)) {
      control.append(new Option(value, value));
    }
    control.value = value;
  }
  settle();
}

// Brings what follows from the controls up to date: sliders, and which texts are shown.
export function settle() {
  for (const slider of sliders()) follow(slider);
  for (const name of ["model", "cluster"]) {
    const chosen = form().elements[name].value;
    const own = byId(`at-own_${name}`);
    if (own !== null) own.hidden = chosen !== OWN;
    if (chosen !== OWN) lastKnown[name] = chosen;
  }
}

// Says at a control what is wrong with it; without a name nothing is wrong any more.
export function complain(name, problem) {
  for (const place of document.querySelectorAll(".wrong")) {
    const is = place.id === `wrong-${name}`;
    place.textContent = is ? problem : "";
    form().elements[place.id.replace("wrong-", "")].setAttribute("aria-invalid", String(is));
  }
}

export function hasPlaceFor(name) {
  return byId(`wrong-${name}`) !== null;
}

// `copied` returns the text of what is known by a name.
export function setUpControls(copied, changed) {
  for (const slider of sliders()) {
    slider.addEventListener("input", () => set(slider));
    boxOf(slider).addEventListener("input", () => follow(slider));
  }
  for (const name of ["model", "cluster"]) {
    lastKnown[name] = form().elements[name].value;
    form().elements[name].addEventListener("input", settle);
  }
  for (const button of document.querySelectorAll("button[data-fills]")) {
    const name = button.dataset.fills;
    button.addEventListener("click", async () => {
      try {
        form().elements[`${OWN}_${name}`].value = await copied(name, lastKnown[name] ?? "");
        changed();
      } catch (error) {
        complain(`${OWN}_${name}`, error.message);
      }
    });
  }
  form().addEventListener("submit", (event) => event.preventDefault());
}
