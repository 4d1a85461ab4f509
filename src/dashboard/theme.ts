/**
 * Runs before anything is painted: sets the theme that the reader chose, so that a dark page never
 * flashes white. A file of its own, for the policy allows no inline script. Nothing is imported here.
 */
export {};

try {
  const chosen = localStorage.getItem('quietzone.theme');
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen;
} catch {
  // Storage may be forbidden: then the system's preference holds.
}
