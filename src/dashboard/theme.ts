/**
 * Runs before anything is painted: sets the theme, so that a dark page never flashes white. A separate file,
 * because the policy allows no inline script. It imports nothing.
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
