// The last script of a page without charts: themes and tables work, and the root has data-ready.

import { setUpTables } from "./tables.js";
import { setUpTheme } from "./theme.js";

setUpTheme();
setUpTables();
document.documentElement.dataset.ready = "yes";
