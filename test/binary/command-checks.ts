/** What commands do before the service has run, while it runs, and after its end. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Agent, request } from 'undici';
import { word } from '../support/client.ts';
import { endOf } from '../support/process.ts';
import { type Check, short, unless, whole } from './checks.ts';
import { bytesOf, target, until, type Walk } from './walk.ts';

const fixture = (name: string): string =>
  fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url));
const ofFile = ({ kind }: Walk): string | undefined =>
  kind === 'file' ? undefined : 'the sources have none';

/** Before anything is started. */
export const alone: ReadonlyArray<Check<Walk>> = [
  short('`version` names version, commit, target and Node.js', async (walk) => {
    const build = walk.kind === 'file' ? '[0-9a-f]{12}, linux-(x64|arm64)' : 'from source';
    const line = new RegExp(`^\\d+\\.\\d+\\.\\d+ \\(${build}, Node\\.js \\d+\\.\\d+\\.\\d+\\)\\n$`);
    assert.match(await walk.done(['version']), line);
    assert.match(await walk.done(['--version']), line);
  }),
  unless(ofFile, '`version --verbose` names every native file with its SHA-256', async (walk) => {
    const [, ...lines] = (await walk.done(['version', '--verbose'])).trim().split('\n');
    for (const line of lines) assert.match(line, /^[0-9a-f]{64} {2}\S+ \(\S+ \d+\.\d+\.\d+\S*\)$/);
    for (const name of ['uws', 'lmdb', 'sharp', 'libvips']) {
      assert.match(lines.join(), new RegExp(name));
    }
  }),
  unless(ofFile, '`licenses` has what is built in, and the geo sources', async (walk) => {
    const text = await walk.done(['licenses']);
    for (const name of ['DB-IP', 'uWebSockets.js', 'lmdb', 'libvips', 'Node.js', 'pdfkit']) {
      assert.ok(text.includes(name), `${name} is not named`);
    }
  }),
  whole('unknown commands, arguments and settings end with 2', async (walk) => {
    for (const line of ['sevre', 'version x', 'version --verbos', 'unpack a b']) {
      const { code, stdout, stderr } = await walk.command(line.split(' '));
      assert.deepEqual([code, stdout], [2, ''], line);
      if (line === 'sevre') assert.match(stderr, /unknown command 'sevre'/);
    }
    const setting = await walk.command(['serve'], { QZ_API_PROT: '1' });
    assert.equal(setting.code, 2);
    assert.match(setting.stderr, /Unknown environment variable QZ_API_PROT/);
  }),
];

/** While the service runs, is killed and ends. */
export const commands: ReadonlyArray<Check<Walk>> = [
  whole('`keys create` makes a key that is accepted at once, and listed', async (walk) => {
    const made = JSON.parse(await walk.done(['keys', 'create', '--name', 'till', '--json']));
    const { key } = made;
    assert.equal((await walk.api.get('/v1/qr-codes', { key })).status, 200);
    assert.match(await walk.done(['keys', 'list', '--json']), /"name": ?"till"/);
  }),
  whole('`doctor` finds the service, the geo data and the own files', async (walk) => {
    const { stdout } = await walk.command(['doctor']);
    assert.match(stdout, /^ok {3}a service is running on this data folder$/m);
    assert.match(stdout, /^(ok {3}|WARN )geo data of 20\d\d-\d\d-\d\d is /m);
    if (walk.kind === 'file') assert.match(stdout, /^ok {3}.*[0-9a-f]{16}/m);
  }),
  whole('`import` makes codes that lead where links of another tool led', async (walk) => {
    copyFileSync(fixture('exports/bitly.csv'), join(walk.place.folder, 'bitly.csv'));
    const { stdout } = await walk.command(['import', join(walk.place.seenAs, 'bitly.csv')]);
    // Its code is on two hosts there.
    assert.match(stdout, /2 rows, 1 created, 1 incomplete, 0 failed/);
    const origin = new URL(word(walk.code.shortUrl)).origin;
    await until('an imported link redirects', async () => {
      const { statusCode, headers } = await request(`${origin}/spring`);
      return statusCode === 302 && headers.location === 'https://example.com/menu?season=spring';
    });
  }),
  short('`backup` works beside the service', async (walk) => {
    assert.match(await walk.done(['backup', join(walk.place.seenAs, 'backup')]), /^Backed up \d+/);
  }),
  short('after `kill -9` the scan that was answered last counts', async (walk) => {
    const before = await walk.scansCounted();
    assert.deepEqual(await walk.scan('192.0.2.3'), [302, target]);
    await walk.service.kill();
    await walk.start(['serve']);
    assert.deepEqual(await walk.scan('192.0.2.4'), [302, target]);
    await until('both are counted', async () => (await walk.scansCounted()) === before + 2);
    await bytesOf(`${walk.service.apiUrl}/i/${word(walk.code.id)}.png?size=601`);
  }),
  short('`reload` puts another process in place, and the code leads on', async (walk) => {
    const { place, service } = walk;
    const reload = place.start(['reload'], walk.environment);
    // The process that it starts inherits its output and continues.
    const output = endOf(reload);
    assert.deepEqual(await once(reload, 'exit'), [0, null]);
    assert.deepEqual(await service.exit, { code: 0, signal: null });
    assert.deepEqual(await walk.scan('192.0.2.5'), [302, target]);
    const successor = Number(readFileSync(join(place.folder, 'data/service.pid'), 'utf8'));
    process.kill(successor, 'SIGTERM');
    assert.match((await output).stderr, /"msg":"ready"/);
    await walk.start(['serve']);
  }),
  short('SIGTERM ends the service with 0, which logged no complaint', async (walk) => {
    const { code, signal } = await walk.service.terminate();
    assert.deepEqual([code, signal], [0, null]);
    assert.deepEqual(walk.service.complaints, []);
  }),
  whole('`verify` finds all data whole', async (walk) => {
    const { findings } = JSON.parse(await walk.done(['verify', '--json']));
    assert.deepEqual(findings, []);
  }),
  short('`restore` fills another folder, which serves the code by TLS', async (walk) => {
    const other = { QZ_DATA_DIR: 'other' };
    const backup = join(walk.place.seenAs, 'backup');
    assert.match(await walk.done(['restore', backup], other), /^Restored \d+/);
    for (const name of ['certificate.pem', 'key.pem']) {
      copyFileSync(fixture(`receiver-tls/${name}`), join(walk.place.folder, name));
    }
    await walk.start(['serve'], {
      ...other,
      QZ_REDIRECT_TLS_CERT_FILE: join(walk.place.seenAs, 'certificate.pem'),
      QZ_REDIRECT_TLS_KEY_FILE: join(walk.place.seenAs, 'key.pem'),
    });
    assert.ok((await walk.scansCounted()) > 0);
    const dispatcher = new Agent({
      connect: { ca: readFileSync(fixture('receiver-tls/certificate.pem')) },
    });
    const url = word(walk.code.shortUrl).replace('http:', 'https:');
    const { statusCode, headers } = await request(url, { dispatcher });
    assert.deepEqual([statusCode, headers.location], [302, target]);
    await dispatcher.destroy();
    assert.equal((await walk.service.terminate()).code, 0);
  }),
];
