// Light or dark: as the system says, or as the button says; always light on paper.

import { byId } from "./dom.js";

const KEY = "yantra-theme";
const system = window.matchMedia("(prefers-color-scheme: dark)");
const listeners = [];
let chosen = remembered();
let onPaper = false;

// Calls `listener` whenever the colours have changed.
export function onTheme(listener) {
  listeners.push(listener);
}

// Returns the value of a colour of the style sheet, for canvases.
export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

export function isPrinting() {
  return onPaper;
}

export function setUpTheme() {
  apply();
  byId("theme").addEventListener("click", () => {
    chosen = isDark() ? "light" : "dark";
    try {
      localStorage.setItem(KEY, chosen);
    } catch {
      // A browser may refuse to remember for files; the choice then lasts as long as the page.
    }
    apply();
  });
  system.addEventListener("change", apply);
  window.addEventListener("beforeprint", () => print(true));
  window.addEventListener("afterprint", () => print(false));
}

function print(starts) {
  onPaper = starts;
  apply();
}

function isDark() {
  return chosen === null ? system.matches : chosen === "dark";
}

function apply() {
  const dark = isDark() && !onPaper;
  document.documentElement.classList.toggle("dark", dark);
  byId("theme").textContent = dark ? "Light" : "Dark";
  byId("theme").setAttribute("aria-pressed", String(dark));
  for (const listener of listeners) listener();
}

function remembered() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}
