/** Keyboard shortcuts, which work everywhere except while typing. */
import { signal } from '@preact/signals';
import { pathTo } from '../paths.ts';
import { currentPath, navigate } from './router.ts';
import { may, sessionState } from './session.ts';

export const isHelpOpen = signal(false);

export const shortcuts: ReadonlyArray<{ readonly keys: string; readonly what: string }> = [
  { keys: '/', what: 'Search your codes' },
  { keys: 'n', what: 'Create a code' },
  { keys: 'o', what: 'Go to the overview' },
  { keys: 'a', what: 'Go to the analytics' },
  { keys: 'c', what: 'Go to the codes' },
  { keys: '?', what: 'Show these shortcuts' },
  { keys: 'Esc', what: 'Close a dialog or a menu' },
];

export const searchFieldId = 'code-search';

const actions: Readonly<Record<string, () => void>> = {
  '/': search,
  n: () => {
    if (may('editor')) navigate(pathTo('newCode'));
  },
  o: () => navigate(pathTo('overview')),
  a: () => navigate(pathTo('analytics')),
  c: () => navigate(pathTo('codes')),
  '?': () => {
    isHelpOpen.value = true;
  },
};

export function startShortcuts(): void {
  document.addEventListener('keydown', (event) => {
    if (event.metaKey || event.ctrlKey || event.altKey || event.defaultPrevented) return;
    if (sessionState.value.kind !== 'in' || isTyping(event.target)) return;
    const action = actions[event.key];
    if (action === undefined || document.querySelector('dialog[open]') !== null) return;
    event.preventDefault();
    action();
  });
}

function search(): void {
  if (currentPath.value !== pathTo('codes')) navigate(`${pathTo('codes')}?focus=search`);
  document.getElementById(searchFieldId)?.focus();
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest('input, textarea, select') !== null;
}
