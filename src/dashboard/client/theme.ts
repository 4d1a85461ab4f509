/** Light, dark, or as the system has it; kept in this browser. `theme.ts` sets it before the first paint. */
import { signal } from '@preact/signals';

export type Theme = 'system' | 'light' | 'dark';

const key = 'quietzone.theme';

export const theme = signal<Theme>(readTheme());

export function chooseTheme(chosen: Theme): void {
  const { dataset } = document.documentElement;
  if (chosen === 'system') delete dataset.theme;
  else dataset.theme = chosen;
  try {
    if (chosen === 'system') localStorage.removeItem(key);
    else localStorage.setItem(key, chosen);
  } catch {
    // Storage may be forbidden: the choice then ends with the tab.
  }
  theme.value = chosen;
}

function readTheme(): Theme {
  const { theme: set } = document.documentElement.dataset;
  return set === 'light' || set === 'dark' ? set : 'system';
}
