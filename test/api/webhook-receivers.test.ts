/** Webhooks as a receiver sees them: the guide's example and code work, and no answer names hosts of the operator's network. */
import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { readGuides } from '../../src/api/docs/guides.ts';
import { signHeaders } from '../../src/webhooks/attempt/signature.ts';
import { systemClock } from '../../src/platform/system-clock.ts';
import { Attempts } from '../../src/webhooks/attempt/attempt.ts';
import type { AttemptSender } from '../../src/webhooks/attempt/attempt-sender.ts';
import { temporaryFolder } from '../store/temporary-management.ts';
import { Client, type Json, word } from '../support/client.ts';
import { startTestApi } from '../support/test-app.ts';

const guides = readGuides({
  publicUrl: 'https://qr.example.com',
  shortUrlBase: 'https://go.example.com',
  hrefOfOperation: () => undefined,
});

/** The page of a guide as a browser shows it. */
function pageText(name: string): string {
  const html = guides.find((guide) => guide.name === name)?.document.html ?? '';
  const entities = { lt: '<', gt: '>', amp: '&', quot: '"', '#39': "'" };
  return Object.entries(entities).reduce(
    (rest, [entity, char]) => rest.replaceAll(`&${entity};`, char),
    html,
  );
}

/** The code of a language, read off the page. */
function snippet(language: string): string {
  const start = `<summary>${language}</summary><pre><code>`;
  const [, rest = ''] = pageText('verify-webhooks').split(start);
  const [code = ''] = rest.split('</code></pre>');
  expect(code).toMatch(/300|5 \* time\.Minute/);
  return code;
}

type Case = ReturnType<typeof cases>[number];

const newer = 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=';
const older = 'whsec_/////////////////////////////////////////w8=';
const now = 1_772_366_400;

function cases() {
  const body = '{"id":"evt_01k3zq8m4hd2v7c5x9ab","event":"qr.scanned","data":{"city":"Zürich 🧀"}}';
  const headerOf = (...secrets: string[]): string =>
    signHeaders({ body: Buffer.from(body), id: 'evt_1', timestampSeconds: now, secrets })[
      'X-Service-Signature'
    ];
  const good = { body, header: headerOf(newer), secret: newer, now, expected: true };
  const both = headerOf(newer, older);
  const bad = { ...good, expected: false };
  const [time = '', hex = ''] = good.header.split(',');
  return [
    { ...good, name: 'one secret' },
    { ...good, name: 'in a rotation, the new secret', header: both },
    { ...good, name: 'in a rotation, the old secret', header: both, secret: older },
    { ...good, name: 'at the edge of the tolerance', now: now + 300 },
    { ...bad, name: 'too old', now: now + 301 },
    { ...bad, name: 'too new', now: now - 301 },
    { ...bad, name: 'another body', body: `${body} ` },
    { ...bad, name: 'another secret', secret: older },
    { ...bad, name: 'another time in the header', header: `t=${now + 1},${hex}` },
    { ...bad, name: 'a short signature', header: `${time},v1=${hex.slice(3, 20)}` },
    { ...bad, name: 'another version', header: `${time},${hex.replace('v1', 'v0')}` },
    { ...bad, name: 'no signature', header: time },
    { ...bad, name: 'a signature that is no hex', header: `${time},v1=é,v1` },
    { ...bad, name: 'no time', header: hex },
    { ...bad, name: 'an empty header', header: '' },
  ];
}

/** Headers, body and secret of the page's example, read off the page. */
function pageExample() {
  const text = pageText('webhooks');
  const request = /POST \/hooks\/qr HTTP\/1\.1\n([^]*?)\n\n(.*)<\/code>/.exec(text);
  const [, head = '', body = ''] = request ?? [];
  const header = /X-Service-Signature: (.*)/.exec(head)?.[1] ?? '';
  const secret = /whsec_[A-Za-z0-9+/=]+/.exec(text)?.[0] ?? '';
  const at = Number(/webhook-timestamp: (\d+)/.exec(head)?.[1]);
  return { name: 'the page’s example', body, header, secret, now: at, expected: true };
}

function expectAnswers(given: readonly Case[], answers: string): void {
  const parsed: boolean[] = JSON.parse(answers);
  const said = given.map(({ name }, index) => `${name}: ${parsed[index]}`);
  expect(said).toEqual(given.map(({ name, expected }) => `${name}: ${expected}`));
}

describe('verification snippets', () => {
  test.each(['Go', 'PHP', 'Ruby'])('%s', (language) => {
    expect(snippet(language)).toMatch(/sha256/i);
  });

  test('Node.js', () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'verify.mjs'), snippet('Node.js'));
    const driver = `import { verify } from './verify.mjs';
const cases = JSON.parse(process.argv[2]);
console.log(JSON.stringify(cases.map(({ body, header, secret, now }) =>
  verify(Buffer.from(body), header, secret, now))));`;
    writeFileSync(join(folder, 'driver.mjs'), driver);
    const given = [...cases(), pageExample()];
    const argument = JSON.stringify(given);
    const said = execFileSync(process.execPath, [join(folder, 'driver.mjs'), argument]);
    expectAnswers(given, String(said));
  });

  const hasPython = spawnSync('python3', ['-c', 'import hmac']).status === 0;
  if (hasPython) {
    test('Python', () => {
      const driver = `${snippet('Python')}
import json, sys
print(json.dumps([
    verify(one["body"].encode(), one["header"], one["secret"], one["now"])
    for one in json.loads(sys.argv[1])
]))`;
      const given = [...cases(), pageExample()];
      const said = execFileSync('python3', ['-c', driver, JSON.stringify(given)]);
      expectAnswers(given, String(said));
    });
  }
});

/** The operator's names, with their addresses and how long the name server takes. */
const names: Readonly<
  Record<string, readonly [milliseconds: number, addresses: readonly string[]]>
> = {
  'database.corp.example': [0, ['10.1.2.3']],
  'mixed.corp.example': [20, ['203.1.113.9', '10.1.2.3']],
};

/** Attempts of this thread, whose name server is the list above. */
function openSender(): AttemptSender {
  const settings = { timeoutMs: 15_000, allowNetworks: [], docsUrl: 'https://qr.example/docs' };
  const resolve = async (name: string): Promise<readonly string[]> => {
    const [milliseconds, addresses] = names[name] ?? [5, []];
    await pause(milliseconds);
    if (addresses.length > 0) return addresses;
    throw Object.assign(new Error(`queryA ENOTFOUND ${name}`), { code: 'ENOTFOUND' });
  };
  const attempts = new Attempts({ settings, clock: systemClock, names: { resolve } });
  return {
    send(tasks, onResult) {
      for (const task of tasks) {
        void attempts.send(task).then((record) => onResult(task.deliveryId, record));
      }
    },
    close: async () => attempts.close(),
  };
}

test('a denied name and one that is not there fail alike, the operator can tell them apart', async () => {
  const service = await startTestApi({ sender: openSender() });
  const client = new Client(service.url, service.apiKey);
  const kept: string[] = [];
  const shown = async (host: string): Promise<Json[]> => {
    const body = { url: `http://${host}/`, events: ['qr.created'] };
    const id = word((await client.post('/v1/webhooks', body)).json.id);
    const sent = await client.post(`/v1/webhooks/${id}/test`, { event: 'qr.created' });
    const delivery = await client.get(`/v1/webhooks/deliveries/${word(sent.json.deliveryId)}`);
    const { deliveries } = service.webhooks;
    kept.push(deliveries.get(1, word(delivery.json.id)).attempts[0]?.failure ?? '');
    const { items } = await client.get(`/v1/webhooks/${id}/deliveries`);
    return [sent.json.attempt, delivery.json.attempts?.[0], items[0]?.lastAttempt].map(
      (attempt = {}) => {
        // Not told by how long it took: all of them wait for the end of the same step.
        expect(Number(attempt.durationMs)).toBeGreaterThan(200);
        return { ...attempt, at: {}, durationMs: {} };
      },
    );
  };
  const absent = await shown('nothing.corp.example');
  expect(absent[0]).toMatchObject({
    failure: 'blocked_ip',
    remoteIp: null,
    status: null,
    answer: null,
  });
  for (const host of Object.keys(names)) expect(await shown(host)).toEqual(absent);
  expect(kept.toSorted()).toEqual(['blocked_ip', 'blocked_ip', 'dns']);
  await client.close();
});
