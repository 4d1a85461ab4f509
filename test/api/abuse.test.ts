/**
 * Request bodies are refused at little cost, never a 5xx, never a dead service.
 */
import { connect } from 'node:net';
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { parseJson } from '../../src/model/json.ts';
import { Failure } from '../../src/model/failure.ts';
import { anyCodePoint } from '../model/any-text.ts';
import { Client, word } from '../support/client.ts';
import { sendRaw } from '../support/raw-http.ts';
import { leastMilliseconds } from '../support/least-milliseconds.ts';
import { startTestApi } from '../support/test-app.ts';
import { soon } from '../support/soon.ts';
import { useTestApi } from '../support/test-client.ts';

const { service, client } = await useTestApi();

const target = '"target":"https://example.com/"';
const nested = (levels: number, open: string, close: string) =>
  open.repeat(levels) + close.repeat(levels);

describe('POST /v1/qr-codes with', () => {
  test.each([
    ['nothing', '', 400, 'invalid_json'],
    ['half an object', '{"target":', 400, 'invalid_json'],
    ['trailing text', `{${target}} x`, 400, 'invalid_json'],
    ['a byte order mark', `\uFEFF{${target}}`, 400, 'invalid_json'],
    ['30,000 nested arrays', nested(30_000, '[', ']'), 400, 'invalid_json'],
    [
      '33 levels',
      `{${target},"metadata":${nested(32, '{"a":', '}').replace(':}', ':1}')}}`,
      400,
      'invalid_json',
    ],
    ['an unclosed nest', '['.repeat(60_000), 400, 'invalid_json'],
    ['a repeated key', `{${target},${target}}`, 400, 'invalid_json'],
    ['a key repeated by escape', `{${target},"t\\u0061rget":"x"}`, 400, 'invalid_json'],
    ['1e400', `{${target},"metadata":{"a":1e400}}`, 422, 'validation_failed'],
    ['2^53', `{${target},"metadata":{"a":9007199254740992}}`, 422, 'validation_failed'],
    ['__proto__', `{${target},"__proto__":{"role":"owner"}}`, 422, 'validation_failed'],
    ['__proto__ inside', `{${target},"metadata":{"__proto__":{}}}`, 422, 'validation_failed'],
    ['constructor', `{${target},"constructor":{"prototype":{}}}`, 422, 'validation_failed'],
    ['half a surrogate', `{${target},"name":"\\ud800"}`, 422, 'validation_failed'],
    ['null', 'null', 422, 'validation_failed'],
    ['a string', '"x"', 422, 'validation_failed'],
    ['too much', `{${target},"name":"${'n'.repeat(200_000)}"}`, 413, 'body_too_large'],
  ])('%s', async (_name, raw, status, code) => {
    const answer = await client.call('POST', '/v1/qr-codes', { raw });
    expect([answer.status, answer.json.code]).toEqual([status, code]);
  });

  test('bytes that are not UTF-8 are 400', async () => {
    const raw = Buffer.concat([
      Buffer.from('{"target":"'),
      Buffer.from([0xff, 0xc0]),
      Buffer.from('"}'),
    ]);
    expect((await client.call('POST', '/v1/qr-codes', { raw })).status).toBe(400);
  });

  test.each([
    ['none', ''],
    ['a form', 'application/x-www-form-urlencoded'],
    ['text', 'text/plain'],
    ['JSON in another charset', 'application/json; charset=utf-16'],
    ['something like JSON', 'application/jsonp'],
    ['a merge patch, which is for PATCH', 'application/merge-patch+json'],
  ])('content type %s is 415', async (_name, type) => {
    const answer = await client.call('POST', '/v1/qr-codes', {
      raw: `{${target}}`,
      headers: { 'content-type': type },
    });
    expect([answer.status, answer.json.code]).toEqual([415, 'unsupported_media_type']);
  });

  test.each([
    ['gzip', 415],
    ['gzip, br', 415],
    ['identity', 201],
  ])('content encoding %s is %i', async (encoding, status) => {
    const headers = { 'content-type': 'application/json', 'content-encoding': encoding };
    const answer = await client.call('POST', '/v1/qr-codes', { raw: `{${target}}`, headers });
    expect(answer.status).toBe(status);
    const csv = { ...headers, 'content-type': 'text/csv' };
    const raw = 'target\nhttps://example.com/\n';
    const bulk = await client.call('POST', '/v1/qr-codes/bulk', { raw, headers: csv });
    expect(bulk.status).toBe(status === 201 ? 200 : status);
  });

  test('nothing got into any prototype, and no 5xx was logged', () => {
    expect(Reflect.get({}, 'role')).toBeUndefined();
    expect(service.logLines.filter((line) => line.includes('"level":"error"'))).toEqual([]);
  });
});

test('clients that leave at any byte of a request: no defect, nothing in flight', async () => {
  const body = `{${target}}`;
  const whole =
    `POST /v1/qr-codes HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${service.apiKey}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  for (let length = 1; length <= whole.length; length += 3) {
    await new Promise<void>((resolve) => {
      const socket = connect(service.port, '127.0.0.1');
      socket.on('error', () => undefined);
      socket.once('close', () => resolve());
      socket.write(whole.slice(0, length), () => socket.resetAndDestroy());
    });
  }
  await vi.waitFor(() => expect(service.server.inFlight).toBe(0), soon);
  expect(service.logLines.filter((line) => line.includes('"level":"error"'))).toEqual([]);
  expect((await client.get('/v1/qr-codes?limit=1')).status).toBe(200);
});

test('an ambiguous request gets a problem with every header', async () => {
  const answer = await sendRaw(service.port, [
    'GET /v1/qr-codes HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n',
  ]);
  expect([answer.statuses, answer.closed]).toEqual([[400], true]);
  for (const name of [
    'X-RateLimit-Limit',
    'X-RateLimit-Remaining',
    'X-RateLimit-Reset',
    'X-Request-Id',
  ]) {
    expect(answer.text).toContain(`${name}: `);
  }
  expect(answer.text).toContain('"code":"bad_request"');
});

describe('parseJson', () => {
  const bytes = (text: string) => new TextEncoder().encode(text);

  test('takes whatever JSON.stringify writes of safe values', () => {
    const safe = fc.jsonValue({ maxDepth: 6, stringUnit: anyCodePoint }).filter(isSafe);
    fc.assert(
      fc.property(safe, (value) => {
        expect(parseJson(bytes(JSON.stringify(value)))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  test('on any bytes: a value, or a Failure of the client’s', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (noise) => {
        try {
          parseJson(noise);
        } catch (error) {
          expect(error).toBeInstanceOf(Failure);
        }
      }),
    );
  });

  test('refuses 500,000 nested arrays and 64 KB of quotes in well under a second', () => {
    const spentMs = leastMilliseconds(() => {
      expect(() => parseJson(bytes(nested(500_000, '[', ']')))).toThrow(/nests deeper/);
      expect(() => parseJson(bytes('"\\"'.repeat(22_000)))).toThrow(/not JSON/);
    });
    expect(spentMs).toBeLessThan(500);
  });

  function isSafe(value: unknown): boolean {
    const text = JSON.stringify(value);
    if (text.includes('__proto__') || !text.isWellFormed() || text.includes('\\ud')) return false;
    const numbers = text.match(/-?\d+(?:\.\d+)?(?:e[+-]?\d+)?/g) ?? [];
    return numbers.every(
      (one) => !Number.isInteger(Number(one)) || Number.isSafeInteger(Number(one)),
    );
  }
});

describe('too much at once', () => {
  test('above inFlightMax: 503 overloaded with Retry-After and every header, then serving again', async () => {
    const held: Array<() => void> = [];
    const own = await startTestApi({
      limits: { inFlightMax: 1 },
      images: {
        render: async () => {
          await new Promise<void>((resolve) => held.push(resolve));
          return { bytes: new Uint8Array(1), etag: '"a"', contentType: 'image/png' };
        },
      },
    });
    const other = new Client(own.url, own.apiKey);
    const { json } = await other.call('POST', '/v1/qr-codes', { raw: `{${target}}` });
    const drawing = other.get(`/i/${word(json.id)}.png`);
    // In flight is a request before its image is asked for.
    await vi.waitFor(() => expect([own.server.inFlight, held.length]).toEqual([1, 1]), soon);
    const refused = await other.get('/v1/qr-codes');
    expect([refused.status, refused.json.code]).toEqual([503, 'overloaded']);
    expect(refused.headers['retry-after']).toBe('1');
    expect(refused.headers['x-ratelimit-limit']).toBe('20');
    for (const release of held) release();
    expect((await drawing).status).toBe(200);
    expect((await other.get('/v1/qr-codes')).status).toBe(200);
    await other.close();
    await own.close();
  });
});
