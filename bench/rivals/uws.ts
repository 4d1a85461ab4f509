/** The floor: a bare uWebSockets.js that answers everything with one constant redirect. */
import * as uWS from 'uWebSockets.js';
import { redirectHead } from '../../src/http/reply-batch.ts';
import { leaveOutLibraryName } from '../../src/http/unmarked.ts';

const [port, target = ''] = process.argv.slice(2);
leaveOutLibraryName();
const app = uWS.App();
app.any('/*', (response) => {
  response.writeStatus(redirectHead);
  response.writeHeader('Location', target);
  response.end();
});
app.listen('127.0.0.1', Number(port), (socket) => {
  if (socket === false) process.exit(1);
});
