/**
 * The floor: a bare uWebSockets.js that answers everything with one constant redirect.
 *
 *   node uws.ts PORT TARGET [CERTIFICATE KEY]
 */
import { redirectHead } from '../../src/engine/redirect/reply-batch.ts';
import { createApp } from '../../src/platform/uws/uws-app.ts';

const [port, target = '', tlsCertFile = '', tlsKeyFile = ''] = process.argv.slice(2);
const app = createApp({ tlsCertFile, tlsKeyFile });
app.any('/*', (response) => {
  response.writeStatus(redirectHead);
  response.writeHeader('Location', target);
  response.end();
});
app.listen('127.0.0.1', Number(port), (socket) => {
  if (socket === false) process.exit(1);
});
