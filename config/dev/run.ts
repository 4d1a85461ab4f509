/**
 * `npm run dev`: a change of the service restarts it, a change of the dashboard reloads the page alone.
 *
 *   browser ── api.port ──┬ pages and assets, built here after each change
 *                         └ all else ── the service, run as its sources, two ports higher
 *
 * `npm run dev -- --demo` serves the sample data of `npm run demo`; the first run makes it in ./demo.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, watch } from 'node:fs';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { pipeline } from 'node:stream';
import { serialize } from 'node:v8';
import { matchPath } from '../../src/dashboard/paths.ts';
import { assetPrefix, DashboardFiles } from '../../src/http/dashboard/dashboard-files.ts';
import { buildDashboard } from '../release/dashboard.ts';
import { sendDashboard } from './dashboard-server.ts';

const apiPort = Number(process.env['QZ_API_PORT'] ?? 8080);
const servicePort = apiPort + 2;
/** An editor may write a file in steps. */
const settledMs = 100;

const openPages = new Set<ServerResponse>();
let files = new DashboardFiles();

async function build(): Promise<void> {
  try {
    files = new DashboardFiles(
      serialize((await buildDashboard('../../config/dev/page.mjs')).files),
    );
    for (const page of openPages) page.write('data: built\n\n');
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  }
}

function answer(message: IncomingMessage, response: ServerResponse): void {
  const [path = ''] = (message.url ?? '').split('?', 1);
  if (path === '/dev/builds') {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' }).flushHeaders();
    openPages.add(response);
    response.on('close', () => openPages.delete(response));
  } else if (path.startsWith(assetPrefix) || matchPath(path) !== undefined) {
    sendDashboard(files, message, response);
  } else forward(message, response);
}

function forward(message: IncomingMessage, response: ServerResponse): void {
  const { method, url: path, headers } = message;
  const forwarded = request({ port: servicePort, method, path, headers }, (reply) => {
    response.writeHead(reply.statusCode ?? 502, reply.headers);
    pipeline(reply, response, () => undefined);
  });
  forwarded.on('error', () => {
    if (response.headersSent) response.destroy();
    else response.writeHead(502).end('The service starts.\n');
  });
  message.pipe(forwarded);
}

const isDemo = process.argv.includes('--demo');
if (isDemo && !existsSync('demo')) {
  spawnSync(process.execPath, ['src/main.ts', 'demo', '--no-serve'], { stdio: 'inherit' });
}
const building = setTimeout(() => void build(), settledMs);
watch('src', { recursive: true }, (_, name) => {
  if (/^(dashboard|model)\b/.test(name ?? '')) building.refresh();
});
createServer(answer).listen(apiPort, 'localhost');

const watched = readdirSync('src').filter((name) => name !== 'dashboard');
const options = [...watched.map((name) => `--watch-path=src/${name}`), '--watch-preserve-output'];
const command = isDemo ? ['demo', '--existing'] : ['serve'];
const service = spawn(process.execPath, [...options, 'src/main.ts', ...command], {
  stdio: 'inherit',
  env: {
    ...process.env,
    QZ_API_PORT: String(servicePort),
    QZ_API_PUBLIC_URL: `http://localhost:${apiPort}`,
  },
});
service.on('exit', (code) => process.exit(code ?? 1));
process.on('SIGTERM', () => service.kill());
// A terminal sends it to the service too.
process.on('SIGINT', () => undefined);
