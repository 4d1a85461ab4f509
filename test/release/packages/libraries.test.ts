import { createServer } from 'node:http';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { writeAr } from '../../../config/release/archive.ts';
import { librariesOf, readLibraries, unpack } from '../../../config/release/packages/libraries.ts';

/**
 * A tar, compressed by `xz`, of usr/lib/x/libc.so.6 ("libc\n"), its link usr/lib64/ld-linux-x86-64.so.2, of
 * usr/share/doc/libc6/copyright, usr/lib/x/libmemusage.so and usr/share/doc/libc6/changelog.gz, which nobody needs.
 */
const dataTarXz =
  '/Td6WFoAAATm1rRGAgAhARwAAAAQz1jM4Cf/ASZdABcLyyeJ8uv7sv6J4fnJCB0cKj6MUKgZCwf2u7wMQt2e6vgveh' +
  'Qh+vHgK/a2Cdc6G7h/qGnuNrj0agO5z0dP/857y1OI9WKhpltOj4INGgga7fElcJ5+WZdpddGj/+wNwfBN0aCTUJnk' +
  'qWft8QixEWy2+sFm6cj8NfUPh9EW6MWqHcVYZT1J9Lg9NnQ4jAmb2zB20Cszu+2U8sZuEYTSQtgncn7MnJHiHd9MPh' +
  'PF3p08GDIPpyCYSvyNx/LOwLuLoZuREIss8OVtnb17HsiLTkdWFcuBTWCIJxYOMcLxqC7/1pGZUb3vex5O0xAh9kWJ' +
  'l9Yu9yj1lRjYDxZRTXOdCuZc63P/mOLB5NCyU+vHmCn20Rg/F3e49c2LckqfeFHtYCZed8ZPAAAAAHiJdUGHFQYRAA' +
  'HCAoBQAACJoFBkscRn+wIAAAAABFla';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'quietzone-release-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

it('only what is loaded is taken from a Debian package, and its copyright', async () => {
  const content = Buffer.from(dataTarXz, 'base64');
  const bytes = writeAr([{ name: 'data.tar.xz', content }], new Date(0));
  const entries = await unpack(bytes);
  expect(entries).toMatchObject([
    { path: 'usr/lib/x/libc.so.6', content: Buffer.from('libc\n') },
    { path: 'usr/lib64/ld-linux-x86-64.so.2', type: 'link', target: '../lib/x/libc.so.6' },
    { path: 'usr/share/doc/libc6/copyright', content: Buffer.from('LGPL\n') },
  ]);
});

it('a package in another form is refused', async () => {
  const bytes = writeAr([{ name: 'data.tar.zst', content: Buffer.from('') }], new Date(0));
  await expect(unpack(bytes)).rejects.toThrow('it has no data.tar.xz');
});

it('every library is pinned for both architectures', () => {
  for (const architecture of ['amd64', 'arm64'] as const) {
    const libraries = librariesOf(architecture);
    expect(new Set(libraries.map(({ sha256 }) => sha256)).size).toBe(libraries.length);
    for (const { path, sha256 } of libraries) {
      expect(path).toMatch(new RegExp(`^pool/main/\\w/[\\w-]+/[^/]+_${architecture}\\.deb$`));
      expect(sha256).toMatch(/^[0-9a-f]{64}$/);
    }
  }
});

it('a package that is missing is named, with what is expected', async () => {
  await expect(readLibraries('amd64', { folder })).rejects.toThrow(
    /^Cannot find libc6_.*_amd64\.deb: it is not in .*expected it there, or .* mirror/,
  );
});

it('a package that is not the one pinned is refused, from a folder and from a mirror', async () => {
  const [first] = librariesOf('arm64');
  const server = createServer((request, response) => {
    response.statusCode = request.url === `/debian/${first?.path}` ? 200 : 404;
    response.end('another');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const mirror = `http://127.0.0.1:${port}`;
  try {
    const wrong = { folder, mirror: `${mirror}/debian` };
    await expect(readLibraries('arm64', wrong)).rejects.toThrow(/its SHA-256 is [0-9a-f]{64}, exp/);
    const absent = { folder, mirror };
    await expect(readLibraries('arm64', absent)).rejects.toThrow('it answers 404');
    writeFileSync(join(folder, basename(first?.path ?? '')), 'another');
    await expect(readLibraries('arm64', { folder })).rejects.toThrow('its SHA-256 is');
  } finally {
    server.close();
    server.closeAllConnections();
  }
});
