// What surrounds the editor: the language switch with a draft on each side, saving, resetting, earlier
// versions, and the word from another tab.

import { Drafts } from "./drafts.js";

const SAVE_AFTER_MS = 250;
const clock = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

export class Workbench {
  constructor(form, textarea) {
    this.form = form;
    this.textarea = textarea;
    this.starters = JSON.parse(document.getElementById("starters").textContent);
    this.part = (name) => document.querySelector(`[data-${name}]`);
    this.drafts = new Drafts(form.dataset.work, () => this.say("Drafts are not kept: the browser refuses to store them."));
    this.states = new Map();
    this.timer = 0;
  }

  get languageKey() {
    return `backpass.language.${this.form.dataset.work}`;
  }

  /** Fills `view` with the draft (else the starter) of the language last used here. */
  open(view, newState) {
    this.view = view;
    this.newState = newState;
    const radios = [...this.form.querySelectorAll('input[name="language"]')];
    const served = this.textarea.defaultValue;
    this.language = (radios.find((r) => r.checked) ?? radios[0]).value;
    if (served !== "" && served !== this.starters[this.language]) this.takeServed(served);
    else this.restoreLanguage(radios);
    for (const radio of radios) {
      radio.addEventListener("change", () => radio.checked && this.switchTo(radio.value));
    }
    this.show();
    addEventListener("pagehide", () => this.flush());
    document.addEventListener("visibilitychange", () => document.hidden && this.flush());
    this.prepareReset();
    this.prepareOtherTab();
  }

  // The server sent a text of its own accord (a refused post, a submission opened again): it is what the
  // reader wants to see, and the draft it takes the place of stays at hand.
  takeServed(served) {
    const draft = this.drafts.load(this.language);
    if (draft !== null && draft !== served) this.drafts.keepEarlier(this.language, draft, "before opening another text");
    this.drafts.adopt(this.language, draft);
    this.drafts.save(this.language, served);
    // From now on it is a draft like any other: a reload must not bring the served text back.
    history.replaceState(null, "", location.pathname + location.hash);
  }

  restoreLanguage(radios) {
    let last = null;
    try {
      last = localStorage.getItem(this.languageKey);
    } catch {
      return;
    }
    const radio = radios.find((r) => r.value === last);
    if (!radio) return;
    radio.checked = true;
    this.language = last;
  }

  switchTo(language) {
    this.flush();
    this.states.set(this.language, this.view.state);
    this.language = language;
    try {
      localStorage.setItem(this.languageKey, language);
    } catch {
      // Storage is forbidden: next time the page opens with the first language.
    }
    this.show();
    this.view.focus();
  }

  show() {
    let state = this.states.get(this.language);
    if (!state) {
      const draft = this.drafts.load(this.language);
      this.drafts.adopt(this.language, draft);
      state = this.newState(draft ?? this.starters[this.language]);
    }
    this.view.setState(state);
    this.textarea.value = this.text;
    this.tell();
    this.listEarlier();
    const note = this.part("other-tab");
    if (note) note.hidden = true;
  }

  get text() {
    return this.view.state.doc.toString();
  }

  changed() {
    this.textarea.value = this.text;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.flush(), SAVE_AFTER_MS);
  }

  /** Writes the draft now. A text equal to the starter needs none. */
  flush() {
    if (!this.timer) return;
    clearTimeout(this.timer);
    this.timer = 0;
    this.drafts.save(this.language, this.text);
    if (this.text === this.starters[this.language]) this.drafts.forget(this.language);
    if (!this.drafts.refused) this.tell();
    this.listEarlier();
  }

  tell() {
    const isStarter = this.text === this.starters[this.language];
    this.say(isStarter ? "This is the starter." : "Draft kept in this browser.");
  }

  say(text) {
    const line = this.part("draft-state");
    if (line.textContent !== text) line.textContent = text;
  }

  replace(text) {
    this.view.dispatch({
      changes: { from: 0, to: this.view.state.doc.length, insert: text },
      selection: { anchor: 0 },
      scrollIntoView: true,
      userEvent: "input.replace",
    });
    this.view.focus();
  }

  prepareReset() {
    const dialog = this.part("reset-dialog");
    this.part("reset").addEventListener("click", () => {
      if (this.text !== this.starters[this.language]) dialog.showModal();
    });
    dialog.addEventListener("close", () => {
      if (dialog.returnValue !== "reset") return;
      dialog.returnValue = "";
      this.keepCurrent("before the reset");
      this.replace(this.starters[this.language]);
      this.listEarlier();
    });
  }

  keepCurrent(why) {
    if (this.text !== this.starters[this.language]) this.drafts.keepEarlier(this.language, this.text, why);
  }

  listEarlier() {
    const box = this.part("earlier");
    const versions = this.drafts.earlier(this.language);
    box.hidden = versions.length === 0;
    const items = versions.map(({ source, why, savedAt }) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "link";
      button.textContent = `${clock.format(savedAt)}, ${why}, ${source.split("\n").length} lines`;
      button.addEventListener("click", () => {
        this.keepCurrent("before taking an earlier draft");
        this.replace(source);
        box.open = false;
        this.listEarlier();
      });
      const item = document.createElement("li");
      item.append(button);
      return item;
    });
    box.querySelector("ul").replaceChildren(...items);
  }

  prepareOtherTab() {
    const note = this.part("other-tab");
    let theirs = "";
    this.drafts.onOtherTab((language, source) => {
      if (language !== this.language || source === undefined || source === this.text) return;
      theirs = source;
      note.hidden = false;
    });
    note.querySelector("button").addEventListener("click", () => {
      this.keepCurrent("before taking the other tab's");
      this.drafts.adopt(this.language, theirs);
      this.replace(theirs);
      note.hidden = true;
      this.listEarlier();
    });
  }
}
