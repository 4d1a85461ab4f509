/**
 * The service behind a real nginx and a real Caddy, with the files that the guide `deploy.md` shows. Without the program a
 * test is skipped.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sharedFolder } from '../store/temporary-management.ts';
import { word } from '../support/client.ts';
import { freePorts } from '../support/process.ts';
import { soon } from '../support/soon.ts';
import { TestService } from '../support/test-service.ts';

const file = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url));
const guide = readFileSync(file('../src/api/docs/guides/deploy.md'), 'utf8');
const certificate = file('fixtures/receiver-tls/certificate.pem');
const key = file('fixtures/receiver-tls/key.pem');
const links = 'go.example.com';
const dashboard = 'qr.example.com';

const folder = sharedFolder();
let service: TestService;
let program: ChildProcess | undefined;

beforeAll(async () => {
  const environment = { QZ_TRUSTED_PROXIES: '127.0.0.1' };
  service = await TestService.start({ dataDir: join(folder, 'data'), environment });
});
afterAll(() => service.close());

function blockOf(language: string): string {
  const block = new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, 'm').exec(guide)?.[1] ?? '';
  return block
    .replaceAll(':8081', `:${service.ports.redirect}`)
    .replaceAll(':8080', `:${service.ports.api}`);
}

function startNginx(port: number, plainPort: number): ChildProcess {
  const site = blockOf('nginx')
    .replaceAll('listen 443', `listen 127.0.0.1:${port}`)
    .replaceAll('listen 80;', `listen 127.0.0.1:${plainPort};`)
    .replaceAll(/\S+fullchain\.pem/g, certificate)
    .replaceAll(/\S+privkey\.pem/g, key);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${join(folder, name)};`)
    .join('\n');
  const own = `pid ${join(folder, 'pid')};\nerror_log stderr;\ndaemon off;\nevents {}\n`;
  const path = join(folder, 'nginx.conf');
  writeFileSync(path, `${own}http {\naccess_log off;\n${temporary}\n${site}}\n`);
  const checked = spawnSync('nginx', ['-t', '-e', 'stderr', '-p', folder, '-c', path], {
    encoding: 'utf8',
  });
  expect(checked.stderr).toContain('test is successful');
  return spawn('nginx', ['-e', 'stderr', '-p', folder, '-c', path], { stdio: 'ignore' });
}

function startCaddy(port: number): ChildProcess {
  const site = blockOf('caddy').replaceAll(
    /^(\S+\.example\.com) \{$/gm,
    `https://$1:${port} {\n\tbind 127.0.0.1\n\ttls ${certificate} ${key}`,
  );
  const path = join(folder, 'Caddyfile');
  writeFileSync(path, `{\n\tadmin off\n\tauto_https off\n}\n${site}`);
  const own = ['--config', path, '--adapter', 'caddyfile'];
  mkdirSync(join(folder, 'caddy'), { recursive: true });
  const env = { ...process.env, HOME: join(folder, 'caddy') };
  expect(spawnSync('caddy', ['validate', ...own], { encoding: 'utf8', env }).stdout).toContain(
    'Valid',
  );
  return spawn('caddy', ['run', ...own], { stdio: 'ignore', env });
}

/** A client on an address of its own, which trusts any certificate. */
function clientAt(localAddress: string, port: number) {
  const dispatcher = new Agent({ localAddress, connect: { rejectUnauthorized: false } });
  return async (host: string, path: string, options: Partial<Parameters<typeof request>[1]> = {}) =>
    await request(`https://127.0.0.1:${port}${path}`, {
      ...options,
      dispatcher,
      headers: { host, ...(options.headers as Record<string, string>) },
    });
}

describe.each([
  { name: 'nginx', start: startNginx, version: '-v' },
  { name: 'caddy', start: startCaddy, version: 'version' },
])('$name', ({ name, start, version }) => {
  afterAll(async () => {
    program?.kill();
    if (program?.exitCode === null) await once(program, 'exit');
  });

  // oxlint-disable-next-line no-restricted-properties -- `npm test` needs Node.js alone
  test.skipIf(spawnSync(name, [version]).error !== undefined)(
    'passes redirects, requests and live streams through, with the address of the client',
    async () => {
      const { api: port, redirect: plainPort } = await freePorts();
      program = start(port, plainPort);
      const first = clientAt('127.0.0.2', port);
      const authorization = `Bearer ${service.apiKey}`;
      const get = async (path: string) =>
        await (await first(dashboard, path, { headers: { authorization } })).body.json();
      await expect.poll(() => get('/health/live').catch(() => undefined), soon).toBeDefined();

      const stream = await first(dashboard, '/v1/events/stream', { headers: { authorization } });
      const made = await first(dashboard, '/v1/qr-codes', {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json' },
        body: JSON.stringify({ target: 'https://example.com/menu' }),
      });
      expect(made.statusCode).toBe(201);
      const code = (await made.body.json()) as Record<string, unknown>;
      for await (const chunk of stream.body) if (String(chunk).includes(word(code['id']))) break;

      const path = new URL(word(code['shortUrl'])).pathname;
      const second = clientAt('127.0.0.3', port);
      const agent = { 'user-agent': 'Mozilla/5.0 (iPhone)' };
      for (const [client, headers] of [
        [first, agent],
        [first, { ...agent, 'x-forwarded-for': '203.0.113.9' }],
        [second, agent],
      ] as const) {
        const answer = await client(links, path, { headers });
        expect([answer.statusCode, answer.headers['location']]).toEqual([
          302,
          'https://example.com/menu',
        ]);
        await answer.body.dump();
      }
      const numbers = async () => await get(`/v1/qr-codes/${word(code['id'])}/analytics`);
      await expect.poll(numbers, soon).toMatchObject({ totalScans: 3, uniqueScanners: 2 });
    },
  );
});
