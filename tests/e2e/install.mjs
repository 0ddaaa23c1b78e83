// Installs the editor of the end-to-end tests, unless it is there.

import { ensureEditor } from "./editor.mjs";

await ensureEditor(console.log);
