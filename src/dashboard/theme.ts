/**
 * Runs before the first paint and sets the theme, so that a dark page never flashes white. A separate file, because the
 * policy forbids inline scripts. It imports nothing.
 */
export {};

let chosen: string | null = null;
try {
  chosen = localStorage.getItem('quietzone.theme');
} catch {
  // Storage may be forbidden: then the system's preference applies.
}
const preferred = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
document.documentElement.dataset.theme =
  chosen === 'light' || chosen === 'dark' ? chosen : preferred;
