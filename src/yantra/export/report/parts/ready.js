// Starts a page with pictures; the root element then has data-ready, "no" if anything went wrong.

import { byId, el } from "./dom.js";

export function startPage(start) {
  start().then(
    () => {
      document.documentElement.dataset.ready = "yes";
    },
    (error) => {
      document.documentElement.dataset.ready = "no";
      const why =
        typeof DecompressionStream === "undefined"
          ? "this browser cannot unpack deflate streams; use one from 2023 or later"
          : error.message;
      byId("content").prepend(
        el("p", { class: "warnings", role: "alert" }, `The pictures cannot be drawn: ${why}.`),
      );
      console.error(error);
    },
  );
}
