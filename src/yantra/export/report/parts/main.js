// Puts the page together.

import { drawBandwidth } from "./bandwidth.js";
import { setUpCopying } from "./copy.js";
import { loadColumns, pageData } from "./data.js";
import { barsButton } from "./download.js";
import { byId } from "./dom.js";
import { drawMemory } from "./memory.js";
import { Job } from "./nodes.js";
import { drawPackets } from "./packets.js";
import { CriticalPath } from "./path.js";
import { drawPower } from "./power.js";
import { startPage } from "./ready.js";
import { drawRoofline } from "./roofline.js";
import { setUpTables } from "./tables.js";
import { setUpTheme } from "./theme.js";
import { Timeline } from "./timeline.js";
import { drawTopology } from "./topology.js";
import { Waits } from "./waits.js";

async function start() {
  setUpTheme();
  setUpTables();
  setUpCopying();
  for (const box of document.querySelectorAll(".bars, .tall")) box.after(barsButton(box));
  const page = pageData();
  const columns = await loadColumns();
  const job = new Job(page, columns);
  const path = page.path === null ? null : new CriticalPath(job, page.path, columns);
  const waits = page.waits ? new Waits(job, page.waits, columns) : null;
  const timeline = new Timeline(job, path, waits);
  for (const button of document.querySelectorAll("#path .to-node")) {
    button.addEventListener("click", () => {
      const rank = Number(button.dataset.rank ?? -1);
      const target = job.targetOf(rank, button.dataset.node ?? null);
      if (target) timeline.goTo(target, rank);
      byId("timeline").scrollIntoView();
    });
  }
  drawBandwidth(page, columns);
  drawRoofline(page, columns);
  drawTopology(page, columns);
  drawMemory(page, columns);
  drawPower(page.power, columns);
  drawPackets(page, columns);
}

startPage(start);
