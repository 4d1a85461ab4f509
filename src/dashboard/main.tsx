/**
 * The dashboard's entry: loads the session, then shows the page at the address.
 *
 *   session unknown -> splash     signed out -> sign-in (the address stays)
 *   signed in -> frame with the page of `shell/pages.ts`; only chart and map are loaded later
 */
import { render } from 'preact';
import { startRouter } from './client/router.ts';
import { loadSession } from './client/session.ts';
import { startShortcuts } from './client/shortcuts.ts';
import { App } from './shell/app.tsx';

const place = document.querySelector('#app');
if (place !== null) {
  startRouter();
  startShortcuts();
  void loadSession();
  place.textContent = '';
  render(<App />, place);
}
