// Marking the lines a verdict complains about: a sign in the gutter, a tint, and the message below.
//
// The verdict speaks of the text that was sent. Changes made since are followed, so that a mark lands on
// the same line of today's text; it goes when that line is edited or the next job is sent.

import { ChangeSet, RangeSet, StateEffect, StateField } from "@codemirror/state";
import { Decoration, EditorView, GutterMarker, WidgetType, gutter } from "@codemirror/view";

const setMarks = StateEffect.define(); // [{from, message}] in today's text
const sent = StateEffect.define();

class Sign extends GutterMarker {
  constructor(message) {
    super();
    this.message = message;
  }
  eq(other) {
    return other.message === this.message;
  }
  toDOM() {
    const sign = document.createElement("span");
    sign.className = "error-sign";
    sign.textContent = "!";
    sign.title = this.message;
    sign.setAttribute("aria-label", `Error on this line: ${this.message}`);
    return sign;
  }
}

class Message extends WidgetType {
  constructor(message) {
    super();
    this.message = message;
  }
  eq(other) {
    return other.message === this.message;
  }
  toDOM() {
    const box = document.createElement("div");
    box.className = "error-message";
    box.textContent = this.message;
    return box;
  }
}

// Sorted by place, one for each line: what is said of the same line stands together.
function arrange(doc, marks) {
  const byLine = new Map();
  for (const { from, message } of marks) {
    const at = doc.lineAt(from).from;
    const said = byLine.get(at);
    if (said === undefined) byLine.set(at, message);
    else if (!said.split("\n").includes(message)) byLine.set(at, `${said}\n${message}`);
  }
  const list = [...byLine].sort(([a], [b]) => a - b).map(([from, message]) => ({ from, message }));
  return {
    list,
    signs: RangeSet.of(list.map(({ from, message }) => new Sign(message).range(from))),
    decorations: Decoration.set(
      list.flatMap(({ from, message }) => [
        Decoration.line({ class: "error-line" }).range(from),
        Decoration.widget({ widget: new Message(message), block: true, side: 1 }).range(doc.lineAt(from).to),
      ]),
      true,
    ),
  };
}

const none = { list: [], signs: RangeSet.empty, decorations: Decoration.none };

const marks = StateField.define({
  create: () => none,
  update(value, transaction) {
    for (const effect of transaction.effects) {
      if (effect.is(setMarks)) return arrange(transaction.newDoc, effect.value);
    }
    if (!value.list.length || !transaction.docChanged) return value;
    const before = transaction.startState.doc;
    const kept = value.list.filter(({ from }) => !transaction.changes.touchesRange(from, before.lineAt(from).to));
    const moved = kept.map(({ from, message }) => ({ from: transaction.changes.mapPos(from, 1), message }));
    return arrange(transaction.newDoc, moved);
  },
  provide: (field) => EditorView.decorations.from(field, (value) => value.decorations),
});

// The text as it was sent, and all that has changed since.
const sentText = StateField.define({
  create: (state) => ({ doc: state.doc, since: ChangeSet.empty(state.doc.length) }),
  update(value, transaction) {
    if (transaction.effects.some((effect) => effect.is(sent))) {
      return { doc: transaction.newDoc, since: ChangeSet.empty(transaction.newDoc.length) };
    }
    return transaction.docChanged ? { doc: value.doc, since: value.since.compose(transaction.changes) } : value;
  },
});

export const errorMarks = [
  sentText,
  marks,
  gutter({ class: "error-gutter", markers: (view) => view.state.field(marks).signs, initialSpacer: () => new Sign("") }),
];

// CodeMirror's own scrolling would move the page too, away from the verdict on a narrow screen.
function scrollEditorTo(view, position) {
  const { top, bottom } = view.lineBlockAt(position);
  const { scrollTop, clientHeight } = view.scrollDOM;
  if (top >= scrollTop && bottom <= scrollTop + clientHeight) return;
  view.scrollDOM.scrollTop = Math.max(0, top - clientHeight / 3);
}

/** Call when the text is sent: later line numbers speak of this text. */
export function noteSent(view) {
  view.dispatch({ effects: [sent.of(null), setMarks.of([])] });
}

// Where the `line`-th line (from 1) of the text last sent begins in today's text; null if there is none.
function placeOf(view, line) {
  const { doc, since } = view.state.field(sentText);
  return line >= 1 && line <= doc.lines ? since.mapPos(doc.line(line).from, 1) : null;
}

/** Marks lines of the text last sent, [{line, message}], in place of what was marked; shows the first. */
export function markErrors(view, errors) {
  const found = errors
    .map(({ line, message }) => ({ from: placeOf(view, line), message }))
    .filter(({ from }) => from !== null);
  view.dispatch({ effects: setMarks.of(found) });
  if (found.length) scrollEditorTo(view, found[0].from);
}

/** Puts the cursor on the `line`-th line of the text last sent; whether there is one. */
export function goToLine(view, line) {
  const place = placeOf(view, line);
  if (place === null) return false;
  view.dispatch({ selection: { anchor: place } });
  scrollEditorTo(view, place);
  view.focus();
  return true;
}
