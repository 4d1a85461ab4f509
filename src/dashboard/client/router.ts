/**
 * The current address. Links are plain `<a href>`: one listener handles the clicks that stay inside the
 * dashboard, so that new tabs, copied addresses and the back button work as usual.
 */
import { computed, signal } from '@preact/signals';
import { matchPath } from '../paths.ts';

interface Place {
  readonly path: string;
  readonly query: URLSearchParams;
}

const place = signal<Place>(here());

export const currentPath = computed(() => place.value.path);
export const currentQuery = computed(() => place.value.query);

function here(): Place {
  return { path: location.pathname, query: new URLSearchParams(location.search) };
}

/** Goes to an address of the dashboard. */
export function navigate(address: string): void {
  if (mayLeave(address)) go(address, 'push');
}

/** Changes the address without a new entry in the history. */
export function replaceAddress(address: string): void {
  go(address, 'replace');
}

function go(address: string, how: 'push' | 'replace'): void {
  const before = location.pathname;
  if (how === 'push') history.pushState(null, '', address);
  else history.replaceState(null, '', address);
  place.value = here();
  if (how === 'push' && location.pathname !== before) scrollTo(0, 0);
}

type QueryChanges = Readonly<Record<string, string | undefined>>;

/** Sets parameters of the query; undefined or an empty text removes one. */
export function setQuery(changes: QueryChanges): void {
  replaceAddress(addressWith(changes));
}

/** The same as a new history entry, which the back button undoes. */
export function pushQuery(changes: QueryChanges): void {
  go(addressWith(changes), 'push');
}

/** This page's address with other parameters. */
function addressWith(changes: QueryChanges): string {
  const query = new URLSearchParams(place.value.query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === '') query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  return `${place.value.path}${text === '' ? '' : `?${text}`}`;
}

/** Asks before unsaved changes are lost. One page at a time can register. */
let held: (() => boolean) | undefined;
export function askBeforeLeaving(hasUnsaved: () => boolean): () => void {
  held = hasUnsaved;
  return () => {
    if (held === hasUnsaved) held = undefined;
  };
}

function mayLeave(address: string): boolean {
  const isSamePage = new URL(address, location.href).pathname === location.pathname;
  return isSamePage || confirmLeaving();
}

/** False if the user wants to stay because of unsaved changes. */
export function confirmLeaving(): boolean {
  if (held?.() !== true) return true;
  return confirm('Leave this page? Unsaved changes are lost.');
}

/** Called once. */
export function startRouter(): void {
  addEventListener('popstate', () => {
    const isSamePage = location.pathname === place.value.path;
    if (isSamePage || confirmLeaving()) place.value = here();
    // The browser has left already.
    else history.pushState(null, '', addressWith({}));
  });
  addEventListener('beforeunload', (event) => {
    if (held?.() === true) event.preventDefault();
  });
  document.addEventListener('click', (event) => {
    const address = addressOf(event);
    if (address === undefined) return;
    event.preventDefault();
    navigate(address);
  });
}

function addressOf(event: MouseEvent): string | undefined {
  if (event.defaultPrevented || event.button !== 0) return undefined;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return undefined;
  const link = event.target instanceof Element ? event.target.closest('a') : null;
  if (link === null || link.target !== '' || link.hasAttribute('download')) return undefined;
  if (link.getAttribute('href')?.startsWith('#') === true) return undefined;
  const url = new URL(link.href, location.href);
  if (url.origin !== location.origin || matchPath(url.pathname) === undefined) return undefined;
  return url.pathname + url.search;
}
