/** What most redirectors are built on: node:http with one constant redirect. */
import { createServer } from 'node:http';

const [port, target = ''] = process.argv.slice(2);
createServer((_request, response) => {
  response.writeHead(302, {
    location: target,
    'cache-control': 'private, no-store',
    'x-content-type-options': 'nosniff',
    'x-robots-tag': 'noindex',
  });
  response.end();
}).listen(Number(port), '127.0.0.1');
