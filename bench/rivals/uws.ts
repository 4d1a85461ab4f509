/** The floor: a bare uWebSockets.js that answers everything with one constant redirect. */
import * as uWS from 'uWebSockets.js';

const [port, target = ''] = process.argv.slice(2);
const app = uWS.App();
app.any('/*', (response) => {
  response.writeStatus('302 Found');
  response.writeHeader('Location', target);
  response.writeHeader('Cache-Control', 'private, no-store');
  response.end();
});
app.listen('127.0.0.1', Number(port), (socket) => {
  if (socket === false) process.exit(1);
});
