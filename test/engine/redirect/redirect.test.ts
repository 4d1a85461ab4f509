/** The redirect over real sockets, byte by byte: what a phone, a bot and a hostile client get. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { linkOf } from '../links/table.ts';
import { sendOneByOne, sendRaw } from '../../support/raw-http.ts';
import { soon } from '../../support/soon.ts';
import { agents, type RedirectHarness, startRedirects } from './redirect-harness.ts';

const target = 'https://example.com/caf%C3%A9?a=1&b=%20#x';
const request = (path: string, headers = '', method = 'GET'): string =>
  `${method} ${path} HTTP/1.1\r\nHost: s.example\r\n${headers}\r\n`;

let harness: RedirectHarness;
beforeAll(async () => {
  harness = await startRedirects();
  harness.links.put(linkOf('ABCD2345', { codeNo: 11, target }));
  harness.links.put(linkOf('1B0D2345', { codeNo: 12 }));
  harness.links.put(linkOf('MENU/SUMMER_24', { codeNo: 16, target }));
  harness.links.put(linkOf('K'.repeat(64), { codeNo: 18, target }));
  harness.links.put(linkOf('1', { codeNo: 17, target }));
  harness.links.put(linkOf('EXPIRED1', { codeNo: 13, expiresAtMs: 1_000 }));
  harness.links.put(linkOf('DELETED1', { codeNo: 15 }));
  harness.links.delete('DELETED1');
  harness.links.put(linkOf('DAMAGED1', { codeNo: 19, target }));
  harness.links.put(linkOf('DAMAGED1', { codeNo: 19, state: 'damaged' }));
});
afterAll(() => harness.close());

async function ask(path: string, headers = '', method = 'GET') {
  const before = harness.scans().length;
  const text = request(path, `${headers}Connection: close\r\n`, method);
  const answer = await sendRaw(harness.port, [text]);
  const [head = '', body = ''] = answer.text.split('\r\n\r\n');
  const [status = '', ...lines] = head.split('\r\n');
  const fields = new Map(
    lines.map((line) => [line.split(': ')[0]!.toLowerCase(), line.slice(line.indexOf(': ') + 2)]),
  );
  return { status: status.slice(9), fields, body, scans: harness.scans().slice(before) };
}

describe('a redirect', () => {
  it('is a 302 with the target byte for byte, no body and nothing to keep; HEAD is no scan', async () => {
    const { status, fields, body, scans } = await ask(
      '/ABCD2345',
      `User-Agent: ${agents.iphone}\r\n`,
    );
    const head = await ask('/ABCD2345', '', 'HEAD');
    expect(status).toBe('302 Found');
    expect(fields.get('location')).toBe(target);
    expect(fields.get('cache-control')).toBe('private, no-store');
    expect(fields.get('content-length')).toBe('0');
    // It was asked for: see `ask`.
    expect(fields.get('connection')).toBe('close');
    expect(body).toBe('');
    expect(fields.get('x-content-type-options')).toBe('nosniff');
    expect(fields.get('x-robots-tag')).toBe('noindex');
    expect([...fields.keys()].toSorted().join()).toBe(
      'cache-control,connection,content-length,date,location,x-content-type-options,x-robots-tag',
    );
    expect([head.status, head.fields.get('location'), head.scans]).toEqual([status, target, []]);
    expect([...head.fields.keys()].toSorted()).toEqual([...fields.keys()].toSorted());
    expect(scans).toEqual([
      {
        codeNo: 11,
        agent: agents.iphone,
        referer: '',
        isPrefetch: false,
        route: 0,
        address: '00000000000000000000ffff7f000001',
      },
    ]);
  });

  it('ignores case, look-alikes and the query, not further path', async () => {
    const query = '?utm=x&redirect=https://evil.example';
    for (const path of ['/abcd2345', `/AbCd2345${query}`, '/ABCD2345?']) {
      const { fields, scans } = await ask(path);
      expect([path, fields.get('location'), scans[0]?.codeNo]).toEqual([path, target, 11]);
    }
    expect((await ask('/iBoD2345')).scans[0]?.codeNo).toBe(12);
    for (const path of ['/', '/ABCD2345/', '/ABCD2345/x', '//ABCD2345', '/ABCD234']) {
      const { status, scans } = await ask(path);
      expect([path, status, scans.length]).toEqual([path, '404 Not Found', 0]);
    }
  });

  it.each([
    ['/1', 17],
    ['/menu/summer_24', 16],
    ['/Menu/Summer_24?utm=x', 16],
    // Letters that need not be encoded are the same address (RFC 3986, 6.2.2.2).
    ['/%6Denu/summer%5F24', 16],
    ['/%41BCD%32345', 11],
    ['/%31', 17],
    [`/${'%4b'.repeat(64)}`, 18],
  ])('finds %s, whose code is short, has segments or is encoded', async (path, codeNo) => {
    const { fields, scans } = await ask(path);
    expect([fields.get('location'), scans[0]?.codeNo]).toEqual([target, codeNo]);
    expect((await ask(path, '', 'HEAD')).fields.get('location')).toBe(target);
  });

  it.each([
    '/menu',
    '/menu//summer_24',
    '/x/../menu/summer_24',
    '/menu%2Fsummer_24',
    '/%2531',
    '/%zz',
    '/1%00',
    `/${'%31'.repeat(65)}`,
  ])('finds nothing at %s', async (path) => {
    const { status, scans } = await ask(path);
    expect([status, scans.length]).toEqual(['404 Not Found', 0]);
  });

  it('keeps the referer and long agents up to 512 bytes, and marks prefetches', async () => {
    const headers = `Referer: https://r.example/${'p'.repeat(600)}\r\nUser-Agent: ${'u'.repeat(700)}\r\n`;
    const { scans } = await ask('/ABCD2345', headers);
    expect([scans[0]?.referer.length, scans[0]?.agent]).toEqual([512, 'u'.repeat(512)]);
    const marks = ['Sec-Purpose: prefetch;prerender', 'Purpose: prefetch', 'X-Moz: prefetch'];
    for (const header of marks) {
      expect((await ask('/ABCD2345', `${header}\r\n`)).scans[0]?.isPrefetch, header).toBe(true);
    }
    expect((await ask('/ABCD2345', 'Sec-Purpose: other\r\n')).scans[0]?.isPrefetch).toBe(false);
  });
});

describe('a refusal', () => {
  it.each([
    ['/NOSUCH23', '404 Not Found', 'not_found'],
    ['/EXPIRED1', '410 Gone', 'expired'],
    ['/DELETED1', '410 Gone', 'gone'],
    ['/DAMAGED1', '503 Service Unavailable', 'data_damaged'],
    [`/${'A'.repeat(3_000)}`, '404 Not Found', 'not_found'],
  ])('%.12s is %s as page and as JSON, never kept, never counted', async (path, status, code) => {
    const page = await ask(path, 'Accept: text/html\r\n');
    expect(page.status).toBe(status);
    expect(page.fields.get('cache-control')).toBe('no-store');
    expect(page.fields.get('content-type')).toBe('text/html; charset=utf-8');
    expect(page.body).toContain('<!doctype html>');
    const json = await ask(path, 'Accept: application/json\r\n');
    expect(json.fields.get('content-type')).toBe('application/problem+json');
    expect(JSON.parse(json.body)).toMatchObject({ code, status: Number(status.slice(0, 3)) });
    const head = await ask(path, '', 'HEAD');
    expect([head.status, head.body]).toEqual([status, '']);
    for (const { fields } of [page, json, head]) {
      expect(fields.get('retry-after')).toBe(status.startsWith('503') ? '300' : undefined);
      expect(fields.get('x-content-type-options')).toBe('nosniff');
      expect(fields.get('x-robots-tag')).toBe('noindex');
      expect(fields.get('connection')).toBe('close');
      expect(fields.has('uwebsockets')).toBe(false);
    }
    expect(Number(head.fields.get('content-length'))).toBeGreaterThan(100);
    expect([...page.scans, ...json.scans, ...head.scans]).toEqual([]);
  });

  it('allows GET and HEAD only', async () => {
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']) {
      const { status, fields, scans } = await ask('/ABCD2345', 'Content-Length: 0\r\n', method);
      expect([status, fields.get('allow')]).toEqual(['405 Method Not Allowed', 'GET, HEAD']);
      expect(scans).toEqual([]);
    }
  });
});

describe('hostile clients', () => {
  it('never make two answers of one request, and never take the thread down', async () => {
    const before = harness.scans().length;
    const good = request('/ABCD2345');
    const texts = [
      `POST /ABCD2345 HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${good}`,
      'GET /ABCD2345 HTTP/1.1\r\nHost: x\r\nUser-Agent: a\0b\r\n\r\n',
      `GET /ABCD2345 HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(70_000)}\r\n\r\n`,
      'GET  HTTP/1.1\r\n\r\n',
      '\0\0\0\0\r\n\r\n',
      'GET /ABCD2345 HTTP/9.9\r\n\r\n',
    ];
    const answers = await Promise.all(texts.map((text) => sendRaw(harness.port, [text], 300)));
    for (const [at, { statuses }] of answers.entries()) {
      expect(statuses.length, texts[at]?.slice(0, 60)).toBeLessThanOrEqual(1);
      expect(statuses, texts[at]?.slice(0, 60)).not.toContain(302);
    }
    expect(harness.scans().length).toBe(before);
    expect((await ask('/ABCD2345')).status).toBe('302 Found');
    expect(harness.deaths()).toEqual([]);
  });

  const smuggled = request('/1B0D2345');
  const chunked = 'Transfer-Encoding: chunked\r\n';
  it.each([
    ['two CL', `Content-Length: 0\r\nContent-Length: ${smuggled.length}\r\n`, ''],
    ['unknown TE', 'Transfer-Encoding: xchunked\r\n', '0\r\n\r\n'],
    ['TE list', 'Transfer-Encoding: gzip, chunked\r\n', '0\r\n\r\n'],
    ['two TE', `${chunked}Transfer-Encoding: identity\r\n`, '0\r\n\r\n'],
    ['a bare line feed after a chunk’s size', chunked, '2\nab\r\n0\r\n\r\n'],
    ['no line end after a chunk', chunked, '2\r\nabXX0\r\n\r\n'],
  ])('hide no second request behind %s, nor get a second answer', async (_, framing, body) => {
    const before = harness.scans().length;
    for (const path of ['/ABCD2345', '/NOSUCH12']) {
      for (const method of ['GET', 'HEAD', 'POST']) {
        const head = request(path, framing, method);
        const together = await sendRaw(harness.port, [head + body + smuggled], 150);
        expect(together.statuses.length, `${method} ${path}`).toBeLessThanOrEqual(1);
        // Without its body where the head alone is refused.
        const first = framing === chunked ? head + body : head;
        const alone = await sendOneByOne(harness.port, [first, smuggled]);
        expect([alone.statuses.length, alone.closed], `${method} ${path}`).toEqual([1, true]);
        expect(alone.text.match(/^Connection: close\r$/gm)).toHaveLength(1);
        if (framing === chunked) continue;
        expect(alone.statuses).toEqual([400]);
        expect(alone.text.includes('"code":"bad_request"')).toBe(method !== 'HEAD');
      }
    }
    const scanned = harness.scans().slice(before);
    expect(scanned.map(({ codeNo }) => codeNo)).not.toContain(12);
    if (framing !== chunked) expect(scanned).toEqual([]);
    const empty = await ask('/ABCD2345', 'Content-Length: 0\r\n', 'HEAD');
    expect(empty.fields.get('location')).toBe(target);
    expect(harness.deaths()).toEqual([]);
  });

  it('write agents in UTF-8 or not at all: a record is never longer than its text', async () => {
    const { scans } = await ask('/ABCD2345', 'User-Agent: caf\xc3\xa9\r\n');
    expect(scans.length).toBe(1);
    const broken = await sendRaw(harness.port, [
      Buffer.from(request('/ABCD2345', 'User-Agent: a\xff\xfe\r\n'), 'latin1'),
    ]);
    expect(broken.statuses).toEqual([302]);
  });

  it('that leave right after asking cost nothing: counted at most once each', async () => {
    const before = harness.scans().length;
    const sent = 200;
    await Promise.all(
      Array.from({ length: sent }, async (_, index) => {
        await new Promise<void>((resolve) => {
          const socket = connect(harness.port, '127.0.0.1', () => {
            socket.write(request('/ABCD2345').slice(0, index % 2 === 0 ? undefined : 20));
            if (index % 3 === 0) socket.resetAndDestroy();
            else socket.destroy();
          });
          socket.on('error', () => undefined);
          socket.once('close', () => resolve());
        });
      }),
    );
    await expect.poll(async () => (await ask('/ABCD2345')).status, soon).toBe('302 Found');
    const scans = harness.scans().slice(before);
    expect(scans.length).toBeLessThanOrEqual(sent / 2 + 10);
    // A reset socket has no peer: an address of no bytes would shift the rest of its record.
    for (const { address, agent, codeNo } of scans) {
      expect(['00000000000000000000ffff7f000001', '0'.repeat(32)]).toContain(address);
      expect([agent, codeNo]).toEqual(['', 11]);
    }
    expect(harness.deaths()).toEqual([]);
  });

  it('that pipeline are cut off unanswered, and the next connection is served', async () => {
    // uWS takes no second request on a connection whose first answer waits for the cycle's journal write.
    const before = harness.scans().length;
    const { statuses, closed } = await sendRaw(harness.port, [request('/ABCD2345').repeat(3)]);
    expect([statuses, closed]).toEqual([[], true]);
    // Between two who are answered: their records stay, in order.
    const pipelined = await Promise.all(
      [1, 2, 1].map((count) =>
        sendRaw(harness.port, [request('/ABCD2345', `User-Agent: ${count}\r\n`).repeat(count)]),
      ),
    );
    expect(pipelined.map((answer) => answer.statuses)).toEqual([[302], [], [302]]);
    const counted = harness.scans().slice(before);
    expect(counted.map(({ agent }) => agent)).toEqual(['1', '1']);
    const socket = connect(harness.port, '127.0.0.1');
    for (let sent = 0; sent < 3; sent++) {
      socket.write(request('/ABCD2345'));
      const [answer] = await once(socket, 'data');
      expect(String(answer)).toMatch(/^HTTP\/1\.1 302 /);
    }
    socket.destroy();
  });
});
