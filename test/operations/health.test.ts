/** `quietzone health`: its exit code says what the service answers, whatever it listens on. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, it } from 'vitest';
import { run } from '../../src/operations/health.ts';
import { runHere } from './running.ts';

const fixture = (name: string): URL => new URL(`../fixtures/receiver-tls/${name}`, import.meta.url);

let server: Server | undefined;
afterEach(async () => {
  await server?.[Symbol.asyncDispose]();
  server = undefined;
});

async function listen(started: Server, host: string): Promise<string> {
  server = started.listen(0, host);
  await once(server, 'listening');
  const address = server.address();
  return String(typeof address === 'object' ? address?.port : '');
}

const health = async (environment: Record<string, string>, ...options: string[]) =>
  await runHere(['health', ...options], environment, run);

/** Ready or not, alive in any case. */
const service =
  (isReady: boolean): RequestListener =>
  ({ url = '' }, response) => {
    const isGood = isReady || url === '/health/live';
    response.writeHead(isGood ? 200 : 503).end(`${url} ${isGood ? 'good' : 'counting is behind'}`);
  };

it('a service that is ready is 0, one that is not is 1 with its reasons, and still live', async () => {
  const started = createServer(service(true));
  const environment = { QZ_API_PORT: await listen(started, '127.0.0.1') };
  const good = { code: 0, result: '/health/ready good', progress: '' };
  expect(await health(environment)).toEqual(good);
  started.removeAllListeners('request').on('request', service(false));
  const behind = { code: 1, result: '', progress: '/health/ready counting is behind' };
  expect(await health(environment)).toEqual(behind);
  expect(await health(environment, '--live')).toMatchObject({ code: 0 });
});

it('it asks where the service listens, with TLS where that has TLS', async () => {
  const certFile = fixture('certificate.pem');
  const keyFile = fixture('key.pem');
  const pem = { cert: readFileSync(certFile), key: readFileSync(keyFile) };
  const environment = {
    QZ_API_HOST: '127.0.0.2',
    QZ_API_PORT: await listen(createTlsServer(pem, service(true)), '127.0.0.2'),
    QZ_API_TLS_CERT_FILE: fileURLToPath(certFile),
    QZ_API_TLS_KEY_FILE: fileURLToPath(keyFile),
  };
  expect(await health(environment)).toMatchObject({ code: 0, result: '/health/ready good' });
});

it('nobody there is 1 with the reason, a setting or a word that does not exist is 2', async () => {
  const port = await listen(createServer(), '127.0.0.1');
  await server?.[Symbol.asyncDispose]();
  server = undefined;
  expect(await health({ QZ_API_PORT: port })).toEqual({
    code: 1,
    result: '',
    progress: `Cannot reach the service on port ${port}: connect ECONNREFUSED 127.0.0.1:${port}`,
  });
  expect(await health({ QZ_API_PORT: 'x' })).toMatchObject({ code: 2 });
  expect(await health({}, '--dead')).toMatchObject({ code: 2 });
});
