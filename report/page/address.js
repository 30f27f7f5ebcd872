// What the reader has chosen, in the part of the page's address after "#": a link or a reload shows the same.
// "#plans" leads to a section, as in any page; "#at=plans&plan=3&box=2B7&rank=2" also says what is shown there.

// In this order, whatever was chosen first; other keys come after them.
const kAddressKeys = ['at', 'above', 'below', 'from_ns', 'to_ns', 'box', 'rank', 'plan'];
// Browsers refuse an address that changes too often.
const kAddressPauseMs = 250;

/** @returns {Map<string, string>} */
function parseAddress(hash) {
  const text = hash.replace(/^#/, '');
  if (text === '') return new Map();
  return text.includes('=') ? new Map(new URLSearchParams(text)) : new Map([['at', text]]);
}

/** The address of what was chosen: "" where that is nothing, "#plans" where it is a section alone. */
function addressOf(values) {
  const entries = [...values];
  if (entries.length === 0) return '';
  if (entries.length === 1 && entries[0][0] === 'at') return `#${entries[0][1]}`;
  const place = ([key]) => kAddressKeys.includes(key) ? kAddressKeys.indexOf(key) : kAddressKeys.length;
  return `#${new URLSearchParams(entries.sort((a, b) => place(a) - place(b)))}`;
}

class Address {
  constructor() {
    this.values = parseAddress(location.hash);
    this.waiting = 0;
  }

  get(key) {
    return this.values.get(key) ?? null;
  }

  /** The number under `key` where it is a whole one from 0 to below `end`, else null. */
  index(key, end) {
    const text = this.get(key);
    return text !== null && /^\d+$/.test(text) && Number(text) < end ? Number(text) : null;
  }

  /** Absent values are taken out. */
  set(changes) {
    for (const [key, value] of Object.entries(changes)) {
      if (isAbsent(value)) {
        this.values.delete(key);
      } else {
        this.values.set(key, String(value));
      }
    }
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.write(), kAddressPauseMs);
  }

  write() {
    history.replaceState(null, '', addressOf(this.values) || location.href.replace(/#.*/, ''));
  }

  /** Links to sections keep the rest of the address; one that was typed or sent is read and shown. */
  follow(show) {
    addEventListener('hashchange', () => {
      const given = parseAddress(location.hash);
      if (location.hash.includes('=')) {
        this.values = given;
        show();
      } else {
        this.set({at: given.get('at')});
      }
    });
  }

  /** Browsers know no section by this address: the page goes there itself. */
  goToSection() {
    const section = location.hash.includes('=') && document.getElementById(this.get('at') ?? '');
    if (section) section.scrollIntoView();
  }
}
