// On every page: htmx with nothing it could evaluate, the theme switch, and small comforts.

import htmx from "htmx.org/dist/htmx.esm.js";
import { watchSubmitForm } from "./submit.js";
import { splitters } from "./split.js";
import { tabs } from "./tabs.js";
import { themeSwitch } from "./toggle.js";

Object.assign(htmx.config, {
  allowEval: false,
  allowScriptTags: false,
  includeIndicatorStyles: false,
  historyCacheSize: 0,
  attributesToSettle: ["class"], // copying a style attribute is what the content security policy forbids
  selfRequestsOnly: true,
  scrollIntoViewOnBoost: false,
  timeout: 20_000,
});

// A refusal (422; 429: not now) is a fragment that says why. Every other failure is told by submit.js.
htmx.config.responseHandling = [
  { code: "204", swap: false },
  { code: "[23]..", swap: true },
  { code: "4(22|29)", swap: true, error: true },
  { code: "...", swap: false, error: true },
];

function start() {
  themeSwitch();
  splitters();
  tabs();
  watchSubmitForm();
}

if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
else start();
