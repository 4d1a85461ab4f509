// Runs on the pages under /docs, where scripts may: search, copy buttons, addresses of folded fields.
// Everything is there without it; what it adds, it adds as text, never as markup.

const resultsMax = 20;
const copiedMs = 1_500;

/** @param {string} text */
const fold = (text) => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();

/** @param {string} name @param {Record<string, string>} attributes */
function element(name, attributes, text = '') {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  return made;
}

// Copy.

/** @param {HTMLElement} source */
async function copy(source) {
  if (navigator.clipboard !== undefined) {
    await navigator.clipboard.writeText(source.innerText);
    return;
  }
  // Over plain http from another machine there is no clipboard to write to: what is selected is copied.
  const selection = getSelection();
  selection.selectAllChildren(source);
  document.execCommand('copy');
  selection.removeAllRanges();
}

/** @param {HTMLElement} button @param {HTMLElement} source */
async function copyWith(button, source) {
  try {
    await copy(source);
    button.textContent = 'Copied';
  } catch {
    button.textContent = 'Not copied';
  }
  setTimeout(() => (button.textContent = 'Copy'), copiedMs);
}

for (const pre of document.querySelectorAll('pre')) {
  const frame = element('div', { class: 'sample' });
  const button = element('button', { type: 'button', class: 'copy' }, 'Copy');
  button.addEventListener('click', () => {
    void copyWith(button, pre);
  });
  // What scrolls is reached by keyboard.
  pre.tabIndex = 0;
  pre.replaceWith(frame);
  frame.append(pre, button);
}

// Addresses: the name of a field leads to itself.

for (const field of document.querySelectorAll('.fields > div')) {
  const name = field.querySelector('code');
  const link = element('a', { href: `#${field.id}` });
  name.replaceWith(link);
  link.append(name);
}

function openTarget() {
  const target = document.querySelector(':target');
  if (target === null) return;
  for (let at = target.parentElement; at !== null; at = at.parentElement) {
    if (at instanceof HTMLDetailsElement) at.open = true;
  }
  target.scrollIntoView();
}
addEventListener('hashchange', openTarget);
openTarget();

// Contents: folded where they would fill the screen.

const contents = document.querySelector('details.contents');
if (contents !== null && matchMedia('(max-width: 52rem)').matches) contents.open = false;

// Search.

const box = document.querySelector('.search');
if (box !== null) startSearch(box);

/** @param {HTMLElement} box */
function startSearch(box) {
  const input = box.querySelector('input');
  const list = box.querySelector('[role=listbox]');
  const status = box.querySelector('[role=status]');
  let entries;
  let chosen = -1;
  box.hidden = false;

  async function load() {
    entries ??= fetch('/docs/search.json')
      .then((answer) => answer.json())
      .then((found) => found.map((entry) => ({ ...entry, folded: foldEntry(entry) })));
    return await entries;
  }

  function choose(next) {
    const options = [...list.children];
    chosen = options.length === 0 ? -1 : (next + options.length) % options.length;
    for (const [at, option] of options.entries()) {
      option.setAttribute('aria-selected', String(at === chosen));
    }
    const option = options[chosen];
    option?.scrollIntoView({ block: 'nearest' });
    if (option === undefined) input.removeAttribute('aria-activedescendant');
    else input.setAttribute('aria-activedescendant', option.id);
  }

  function show(found, isAsked) {
    list.replaceChildren(
      ...found.map(({ title, where, text, href }, at) => {
        const option = element('a', { role: 'option', href, id: `found-${at}`, tabindex: '-1' });
        option.append(
          element('b', {}, title),
          element('span', {}, where),
          element('small', {}, text.slice(0, 120)),
        );
        option.addEventListener('click', close);
        return option;
      }),
    );
    list.hidden = found.length === 0;
    input.setAttribute('aria-expanded', String(found.length > 0));
    status.textContent = isAsked && found.length === 0 ? 'Nothing is called that here.' : '';
    choose(0);
  }

  function close() {
    show([], false);
    input.blur();
  }

  async function find() {
    const asked = input.value;
    const words = fold(asked)
      .split(/\s+/)
      .filter((word) => word !== '');
    const known = words.length === 0 ? [] : await load();
    if (input.value === asked) show(best(known, words), words.length > 0);
  }
  input.addEventListener('input', () => {
    void find();
  });
  input.addEventListener('keydown', (event) => {
    if (event.key === 'ArrowDown') choose(chosen + 1);
    else if (event.key === 'ArrowUp') choose(chosen - 1);
    else if (event.key === 'Enter') list.children[chosen]?.click();
    else if (event.key === 'Escape') close();
    else return;
    event.preventDefault();
  });
  addEventListener('keydown', (event) => {
    if (event.key !== 'k' || !(event.ctrlKey || event.metaKey) || event.altKey) return;
    event.preventDefault();
    input.focus();
    input.select();
  });
  addEventListener('click', (event) => {
    if (event.target instanceof Node && !box.contains(event.target)) show([], false);
  });
}

function foldEntry({ title, where, text }) {
  return [title, where, text].map(fold);
}

/** Every word is somewhere in an entry; those with words in their title come first. */
function best(entries, words) {
  const scored = entries.flatMap((entry) => {
    let score = 0;
    for (const word of words) {
      const [title, where, text] = entry.folded;
      if (title.startsWith(word)) score += 8;
      else if (title.includes(word)) score += 4;
      else if (where.includes(word)) score += 2;
      else if (text.includes(word)) score += 1;
      else return [];
    }
    return [{ entry, score: score + (entry.folded[0] === words.join(' ') ? 8 : 0) }];
  });
  return scored
    .toSorted((one, other) => other.score - one.score)
    .slice(0, resultsMax)
    .map(({ entry }) => entry);
}
