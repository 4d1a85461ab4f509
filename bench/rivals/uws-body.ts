/**
 * The floor for images: a bare uWebSockets.js that answers everything with one constant body. `/` leads to
 * `target`, by which the arena knows that it is there.
 */
import * as uWS from 'uWebSockets.js';

const [port, target = '', bytes = '1250'] = process.argv.slice(2);
const body = Buffer.alloc(Number(bytes), 0x2a);
const app = uWS.App();
app.any('/', (response) => {
  response.writeStatus('302 Found');
  response.writeHeader('Location', target);
  response.end();
});
app.get('/*', (response) => {
  response.writeHeader('Content-Type', 'image/png');
  response.end(body);
});
app.listen('127.0.0.1', Number(port), (socket) => {
  if (socket === false) process.exit(1);
});
