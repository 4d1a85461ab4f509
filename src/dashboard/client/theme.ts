/**
 * Light, dark, or the system's theme; stored in this browser. `theme.ts` sets it before the first paint. Paper is light.
 */
import { computed, effect, signal } from '@preact/signals';
import { readChoice, storeChoice } from './choices.ts';

export type Theme = 'system' | 'light' | 'dark';

const key = 'quietzone.theme';
const darkSystem = matchMedia('(prefers-color-scheme: dark)');
const isSystemDark = signal(darkSystem.matches);
const paper = matchMedia('print');
const isPrinted = signal(paper.matches);

/** The user's choice. */
export const theme = signal<Theme>(readTheme());
export const shownTheme = computed(() => {
  if (isPrinted.value) return 'light';
  if (theme.value !== 'system') return theme.value;
  return isSystemDark.value ? 'dark' : 'light';
});

darkSystem.addEventListener('change', () => {
  isSystemDark.value = darkSystem.matches;
});
paper.addEventListener('change', () => {
  isPrinted.value = paper.matches;
});
effect(() => {
  document.documentElement.dataset.theme = shownTheme.value;
});

export function chooseTheme(chosen: Theme): void {
  storeChoice(key, chosen);
  theme.value = chosen;
}

function readTheme(): Theme {
  const stored = readChoice(key);
  return stored === 'light' || stored === 'dark' ? stored : 'system';
}
