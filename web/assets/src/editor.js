// The editor on a problem's page: CodeMirror in place of the form's textarea, which stays the one field
// that is posted.

import { defaultKeymap, history, historyKeymap, indentLess, insertTab } from "@codemirror/commands";
import { python } from "@codemirror/lang-python";
import { bracketMatching, indentOnInput, indentUnit } from "@codemirror/language";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { EditorSelection, EditorState, Prec } from "@codemirror/state";
import {
  EditorView,
  drawSelection,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { errorMarks, goToLine, markErrors, noteSent } from "./errormark.js";
import { highlighting } from "./highlight.js";
import { Workbench } from "./workbench.js";

const INDENT = "    ";

// Tab indents a selection, else fills up to the next stop of four.
function indentOrFill({ state, dispatch }) {
  if (state.selection.ranges.some((r) => !r.empty)) return insertTab({ state, dispatch });
  dispatch(
    state.update(
      state.changeByRange((range) => {
        const column = range.head - state.doc.lineAt(range.head).from;
        const fill = " ".repeat(INDENT.length - (column % INDENT.length));
        return {
          changes: { from: range.head, insert: fill },
          range: EditorSelection.cursor(range.head + fill.length),
        };
      }),
      { scrollIntoView: true, userEvent: "input" },
    ),
  );
  return true;
}

// Typing over a selection: left to itself, Chromium wraps the new text in a style attribute to keep the
// old text's colour. The content security policy forbids that, and the editor does not want it either.
const typeOverSelection = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const isText = event.inputType === "insertText" && event.data && !event.isComposing;
    if (!isText || view.state.selection.ranges.every((r) => r.empty)) return false;
    event.preventDefault();
    view.dispatch(view.state.replaceSelection(event.data), { userEvent: "input.type", scrollIntoView: true });
    return true;
  },
});

function keys(form) {
  const press = (mode) => () => {
    const button = form.querySelector(`button[data-mode="${mode}"]`);
    button?.click(); // htmx learns from the click which button it was; a disabled one does nothing
    return true;
  };
  const sayEscape = (view) => {
    view.dispatch({ effects: EditorView.announce.of("Tab now leaves the editor.") });
    return false;
  };
  return [
    Prec.highest(
      keymap.of([
        ...["Mod", "Ctrl"].flatMap((modifier) => [
          { key: `${modifier}-Enter`, run: press("run") },
          { key: `${modifier}-Shift-Enter`, run: press("submit") },
        ]),
        { key: "Escape", run: sayEscape },
      ]),
    ),
    keymap.of([
      { key: "Tab", run: indentOrFill, shift: indentLess },
      ...defaultKeymap,
      ...historyKeymap,
      ...searchKeymap,
    ]),
  ];
}

function extensions(form, nonce, onChange) {
  return [
    EditorView.cspNonce.of(nonce),
    errorMarks,
    lineNumbers(),
    highlightActiveLineGutter(),
    history(),
    typeOverSelection,
    drawSelection(),
    EditorState.allowMultipleSelections.of(true),
    EditorState.tabSize.of(4),
    indentUnit.of(INDENT),
    indentOnInput(),
    bracketMatching(),
    highlightActiveLine(),
    highlightSelectionMatches(),
    search({ top: true }),
    python(),
    highlighting,
    keys(form),
    EditorView.contentAttributes.of({
      "aria-label": "Your kernel",
      "aria-describedby": "editor-keys",
      autocapitalize: "off",
      spellcheck: "false",
    }),
    EditorView.updateListener.of((update) => update.docChanged && onChange(update)),
  ];
}

function mount(form) {
  const textarea = form.querySelector("textarea[data-source]");
  const parent = form.querySelector("[data-editor]");
  const nonce = parent.dataset.nonce ?? "";
  const bench = new Workbench(form, textarea);
  const setup = extensions(form, nonce, (update) => bench.changed(update));
  const newState = (doc) => EditorState.create({ doc, extensions: setup });
  // Even the first, empty state has them: the nonce must be known when the view writes its styles.
  const view = new EditorView({ parent, state: newState("") });
  bench.open(view, newState);
  textarea.hidden = true;
  parent.hidden = false;
  form.classList.add("has-editor");

  let sentLanguage = "";
  document.addEventListener("backpass:sent", () => {
    sentLanguage = bench.language;
    bench.flush();
    noteSent(view);
  });
  document.body.addEventListener("htmx:afterSettle", () => {
    const errors = [...document.querySelectorAll("[data-error-line]")];
    if (errors.every((e) => "marked" in e.dataset) || bench.language !== sentLanguage) return;
    for (const error of errors) error.dataset.marked = "";
    const told = errors.map(({ dataset }) => ({ line: Number(dataset.errorLine), message: dataset.errorMessage }));
    markErrors(view, told);
  });
  // A line that the console speaks of is right above, in the editor.
  document.addEventListener("click", (event) => {
    const link = event.target.closest("#console a[data-to-line]");
    const plain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey;
    if (!link || !plain || bench.language !== sentLanguage) return;
    if (goToLine(view, Number(link.dataset.toLine))) event.preventDefault();
  });
}

const form = document.querySelector("form[data-work]");
if (form) mount(form);
