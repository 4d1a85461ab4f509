/** The floor: a bare uWebSockets.js that answers everything with one constant redirect. */
import { redirectHead } from '../../src/http/reply-batch.ts';
import { createApp } from '../../src/http/uws-app.ts';

const [port, target = ''] = process.argv.slice(2);
const app = createApp();
app.any('/*', (response) => {
  response.writeStatus(redirectHead);
  response.writeHeader('Location', target);
  response.end();
});
app.listen('127.0.0.1', Number(port), (socket) => {
  if (socket === false) process.exit(1);
});
