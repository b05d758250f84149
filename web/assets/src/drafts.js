// Drafts in local storage: one for each problem and language, and a short list of earlier versions, so
// that nothing typed is ever lost: not by a reload, a reset, or the same problem open in two tabs.

const EARLIER_KEPT = 8;

const read = (key) => {
  try {
    return JSON.parse(localStorage.getItem(key) ?? "null");
  } catch {
    return null;
  }
};

export class Drafts {
  /** @param {string} problem @param {() => void} onRefused called when storage does not take a draft */
  constructor(problem, onRefused) {
    this.problem = problem;
    this.refused = false;
    this.onRefused = () => {
      this.refused = true;
      onRefused();
    };
    this.seen = {};
    this.tab = Array.from(crypto.getRandomValues(new Uint32Array(2)), String).join("-");
  }

  key(language) {
    return `backpass.draft.${this.problem}.${language}`;
  }

  earlierKey(language) {
    return `backpass.earlier.${this.problem}.${language}`;
  }

  /** The draft, or null when the reader has not changed the starter. */
  load(language) {
    const draft = read(this.key(language));
    return typeof draft?.source === "string" ? draft.source : null;
  }

  /** Keeps `source`; what another tab had written there becomes an earlier version first. */
  save(language, source) {
    const before = read(this.key(language));
    const foreign = before && before.tab !== this.tab && before.source !== this.seen[language];
    if (foreign && before.source !== source) this.keepEarlier(language, before.source, "from another tab");
    this.write(this.key(language), { source, tab: this.tab, savedAt: Date.now() });
  }

  /** Remembers what this tab started from: overwriting that is an ordinary edit, not a conflict. */
  adopt(language, source) {
    this.seen[language] = source;
  }

  forget(language) {
    try {
      localStorage.removeItem(this.key(language));
    } catch {
      this.onRefused();
    }
  }

  /** Newest first: {source, why, savedAt}. */
  earlier(language) {
    const list = read(this.earlierKey(language));
    return Array.isArray(list) ? list : [];
  }

  keepEarlier(language, source, why) {
    const others = this.earlier(language).filter((v) => v.source !== source);
    const list = [{ source, why, savedAt: Date.now() }, ...others].slice(0, EARLIER_KEPT);
    this.write(this.earlierKey(language), list);
  }

  /** Calls back when another tab has written another text into a draft of this problem. */
  onOtherTab(callback) {
    addEventListener("storage", (event) => {
      if (!event.newValue || !event.key?.startsWith(this.key(""))) return;
      callback(event.key.slice(this.key("").length), read(event.key)?.source);
    });
  }

  write(key, value) {
    try {
      localStorage.setItem(key, JSON.stringify(value));
      this.refused = false;
    } catch {
      this.onRefused();
    }
  }
}
