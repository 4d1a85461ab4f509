/**
 * Keyboard shortcuts, which work everywhere except while typing. Each is two keys, one after the other, and all can be
 * turned off: speech input presses single keys by mistake (WCAG 2.1.4).
 */
import { signal } from '@preact/signals';
import { pathTo } from '../paths.ts';
import { readChoice, storeChoice } from './choices.ts';
import { currentPath, navigate } from './router.ts';
import { may, sessionState } from './session.ts';

const storageKey = 'quietzone.shortcuts';

export const isHelpOpen = signal(false);
export const areShortcutsOn = signal(readChoice(storageKey) !== 'off');

export function switchShortcuts(isOn: boolean): void {
  storeChoice(storageKey, isOn ? 'on' : 'off');
  areShortcutsOn.value = isOn;
}

export const firstKey = 'g';
/** The second key follows within this time. */
const pauseMsMax = 1_500;

/** By the second key. */
export const shortcuts: Readonly<Record<string, { what: string; act: () => void }>> = {
  s: { what: 'Search your codes', act: search },
  n: { what: 'Create a code', act: () => may('editor') && navigate(pathTo('newCode')) },
  o: { what: 'Go to the overview', act: () => navigate(pathTo('overview')) },
  a: { what: 'Go to the analytics', act: () => navigate(pathTo('analytics')) },
  c: { what: 'Go to the codes', act: () => navigate(pathTo('codes')) },
  h: { what: 'Show these shortcuts', act: () => void (isHelpOpen.value = true) },
};

export const searchFieldId = 'code-search';

export function startShortcuts(): void {
  let firstMs = -pauseMsMax;
  document.addEventListener('keydown', (event) => {
    if (event.metaKey || event.ctrlKey || event.altKey || event.defaultPrevented) return;
    if (sessionState.value.kind !== 'in' || !areShortcutsOn.value || isTyping(event.target)) return;
    const { key, timeStamp } = event;
    const isSecond = timeStamp - firstMs < pauseMsMax;
    firstMs = key === firstKey ? timeStamp : -pauseMsMax;
    const shortcut = isSecond ? shortcuts[key] : undefined;
    if (shortcut === undefined || document.querySelector('dialog[open]') !== null) return;
    event.preventDefault();
    shortcut.act();
  });
}

function search(): void {
  if (currentPath.value !== pathTo('codes')) navigate(`${pathTo('codes')}?focus=search`);
  document.getElementById(searchFieldId)?.focus();
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest('input, textarea, select') !== null;
}
