// One tooltip for the whole page, beside the pointer.

import { el } from "./dom.js";

let box = null;

export function showTooltip(text, x, y) {
  box ??= document.body.appendChild(el("div", { class: "tooltip", role: "status" }));
  if (box.textContent !== text) box.textContent = text;
  box.hidden = false;
  const { width, height } = box.getBoundingClientRect();
  box.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - width - 8))}px`;
  box.style.top = `${y + 18 + height > innerHeight ? y - height - 8 : y + 18}px`;
}

export function hideTooltip() {
  if (box) box.hidden = true;
}

// Shows `text()` while the pointer is on an element.
export function withTooltip(element, text) {
  element.addEventListener("pointermove", (event) =>
    showTooltip(text(event), event.clientX, event.clientY),
  );
  element.addEventListener("pointerleave", hideTooltip);
  return element;
}
