// Syntax classes: CodeMirror tokens get the names Pygments uses, so that one palette in the style sheet
// colours the editor and every listing alike.

import { syntaxHighlighting } from "@codemirror/language";
import { tagHighlighter, tags as t } from "@lezer/highlight";

const pygments = tagHighlighter([
  { tag: t.comment, class: "c" },
  { tag: [t.string, t.special(t.string)], class: "s" },
  { tag: t.escape, class: "se" },
  { tag: t.number, class: "m" },
  { tag: [t.bool, t.null], class: "kc" },
  { tag: t.keyword, class: "k" },
  { tag: [t.operatorKeyword], class: "ow" },
  { tag: t.operator, class: "o" },
  { tag: [t.function(t.definition(t.variableName)), t.definition(t.function(t.variableName))], class: "nf" },
  { tag: t.definition(t.className), class: "nc" },
  { tag: t.function(t.variableName), class: "fn" },
  { tag: t.meta, class: "nd" },
  { tag: t.self, class: "bp" },
  { tag: t.invalid, class: "err" },
]);

export const highlighting = syntaxHighlighting(pygments);
