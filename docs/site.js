// What the theme makes while a page is read, reachable by keyboard and named for those who hear it.

const SCROLLED = "pre > code, .md-typeset__table, .md-typeset__scrollwrap";

function mend() {
  for (const box of document.querySelectorAll(SCROLLED)) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
  }
  for (const buttons of document.querySelectorAll(".md-code__nav")) {
    buttons.setAttribute("role", "presentation");
  }
  for (const pages of document.querySelectorAll("nav[aria-labelledby]")) {
    const label = document.getElementById(pages.getAttribute("aria-labelledby"));
    if (label === null || label.textContent.trim() !== "") continue;
    pages.removeAttribute("aria-labelledby");
    pages.setAttribute("aria-label", pages.parentElement.querySelector("a").textContent.trim());
  }
  // A heading may have the name of a part of the page: a class `Search` has one.
  for (const part of document.querySelectorAll(".md-nav--secondary nav[aria-label='Search']")) {
    part.setAttribute("aria-label", "Below Search");
  }
  const search = document.querySelector(".md-search:not([aria-label])"); // of the page not found
  search?.setAttribute("aria-label", "Search");
}

let asked = 0;

function soon() {
  cancelAnimationFrame(asked);
  asked = requestAnimationFrame(mend);
}

new MutationObserver(soon).observe(document.body, { childList: true, subtree: true });
new ResizeObserver(soon).observe(document.body);
mend();
