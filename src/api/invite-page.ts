/**
 * /accept-invite?token=…: where an invite's link leads. One form; its script sends the token with a name and a
 * password to the API and shows the answer. The token stays in the address bar and in that one request: no
 * referrer leaves the page, and nothing else may be loaded or called.
 */
import type { Reply } from '../http/request.ts';
import { logo, pageReply } from './page.ts';

export const invitePagePath = '/accept-invite';

const script = `
const form = document.querySelector('form');
const say = document.querySelector('[role=status]');
const token = new URLSearchParams(location.search).get('token') ?? '';
const tell = (text) => { say.textContent = text; };
if (token === '') { form.hidden = true; tell('This link is incomplete. Please open it from your invitation again.'); }
form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const button = form.querySelector('button');
  button.disabled = true;
  tell('One moment…');
  const { name, password } = Object.fromEntries(new FormData(form));
  try {
    const response = await fetch('/v1/team/invites/accept', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ token, password, ...(name === '' ? {} : { name }) }),
    });
    const answer = await response.json();
    if (response.ok) {
      form.hidden = true;
      history.replaceState(null, '', location.pathname);
      tell('Welcome. You have joined as ' + answer.role + ' and can sign in with your e-mail address and this password.');
      return;
    }
    const faults = (answer.errors ?? []).map(({ path, message }) => path + ': ' + message);
    tell(faults.length > 0 ? faults.join('. ') : answer.detail);
  } catch {
    tell('The service could not be reached. Please try again.');
  }
  button.disabled = false;
});
`;

const body = `<div class="front">
<a class="brand" href="/">${logo}Quietzone</a>
<h1>Join the workspace</h1>
<p class="lead">You were invited. Choose a name and a password to join; if you have an account already, its
password is enough.</p>
<form class="form">
<label>Name <input name="name" autocomplete="name" maxlength="120"></label>
<label>Password <input name="password" type="password" autocomplete="new-password" required maxlength="256"></label>
<button>Join</button>
</form>
<p role="status" aria-live="polite"></p>
</div>`;

export function invitePage(): Reply {
  const reply = pageReply('Join the workspace', body, script);
  return { ...reply, headers: { ...reply.headers, 'X-Robots-Tag': 'noindex' } };
}
