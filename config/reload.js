/** On a page of `npm run dev` alone: reloads it when the dashboard has another one, which names its scripts by their content. */
const everyMs = 1_000;
let first = '';

async function look() {
  // While the service restarts, the page waits.
  const response = await fetch('/', { cache: 'no-cache' }).catch(() => undefined);
  const current = response?.ok ? (response.headers.get('etag') ?? '') : '';
  first ||= current;
  if (current && current !== first) location.reload();
  else setTimeout(look, everyMs);
}

void look();
