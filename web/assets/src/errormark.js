// Marking the line a verdict complains about: a sign in the gutter, a tint, and the message below it.
//
// The verdict speaks of the text that was sent. Changes made since are followed, so that the mark lands
// on the same line of today's text; it goes when that line is edited or the next job is sent.

import { ChangeSet, RangeSet, StateEffect, StateField } from "@codemirror/state";
import { Decoration, EditorView, GutterMarker, WidgetType, gutter } from "@codemirror/view";

const setMark = StateEffect.define(); // {from, message} in today's text, or null
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

const none = { from: null, message: "", signs: RangeSet.empty, decorations: Decoration.none };

function at(doc, from, message) {
  const line = doc.lineAt(from);
  return {
    from: line.from,
    message,
    signs: RangeSet.of([new Sign(message).range(line.from)]),
    decorations: Decoration.set([
      Decoration.line({ class: "error-line" }).range(line.from),
      Decoration.widget({ widget: new Message(message), block: true, side: 1 }).range(line.to),
    ]),
  };
}

const mark = StateField.define({
  create: () => none,
  update(value, transaction) {
    for (const effect of transaction.effects) {
      if (effect.is(setMark)) {
        return effect.value ? at(transaction.newDoc, effect.value.from, effect.value.message) : none;
      }
    }
    if (value.from === null || !transaction.docChanged) return value;
    const line = transaction.startState.doc.lineAt(value.from);
    if (transaction.changes.touchesRange(line.from, line.to)) return none;
    return at(transaction.newDoc, transaction.changes.mapPos(value.from, 1), value.message);
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
  mark,
  gutter({ class: "error-gutter", markers: (view) => view.state.field(mark).signs, initialSpacer: () => new Sign("") }),
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
  view.dispatch({ effects: [sent.of(null), setMark.of(null)] });
}

/** Marks the `line`-th line (from 1) of the text last sent. */
export function markError(view, line, message) {
  const { doc, since } = view.state.field(sentText);
  if (line < 1 || line > doc.lines) return;
  const from = since.mapPos(doc.line(line).from, 1);
  view.dispatch({ effects: setMark.of({ from, message }) });
  scrollEditorTo(view, from);
}
