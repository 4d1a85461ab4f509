/** Designs, logos, previews, archives and images through the API, drawn for real. */
import { unzipSync } from 'fflate';
import { describe, expect, test } from 'vitest';
import { roundLogo, roundLogoUrl } from '../product/images/sample-designs.ts';
import { readPng, scanBoth } from '../product/images/read-image.ts';
import { type Answer, type Json, word } from '../support/client.ts';
import { makeStranger, useTestApi } from '../support/test-client.ts';

const target = 'https://example.com/menu';
const { service, client, makeCode } = await useTestApi({ images: 'drawn' });

const make = (design?: object, more: object = {}) => makeCode({ design, ...more });
const pathOf = ({ id }: Json): string => `/v1/qr-codes/${word(id)}`;
/** Of what stands on its print. */
const printed = ({ shortUrl }: Json): string => word(shortUrl).toUpperCase();
const imageOf = async ({ id }: Json, file: string, headers = {}): Promise<Answer> =>
  await client.get(`/i/${word(id)}.${file}`, { key: undefined, headers });
const imageAt = async (url: unknown): Promise<Answer> => {
  const { pathname, search } = new URL(word(url));
  return await client.get(`${pathname}${search}`, { key: undefined });
};

async function eventsOf(id: unknown): Promise<readonly Json[]> {
  const { items } = await client.get('/v1/events?type=qr.updated&limit=100');
  return items.filter((event) => event.data?.id === id).map((event) => event.data ?? {});
}

test('a code with a design answers it, has an image in every format, and reads as the short URL', async () => {
  const design = {
    foreground: '#1d3557',
    dotStyle: 'rounded',
    eyeStyle: 'circle',
    logo: roundLogoUrl,
  };
  const code = await make(design);
  expect(code.design).toMatchObject({ foreground: '#1d3557', dotStyle: 'rounded' });
  expect(code.design?.logo).toMatch(/^logo:[0-9a-f]{32}$/);
  const types = {
    png: ['image/png', '\x89PNG'],
    svg: ['image/svg+xml', '<svg'],
    webp: ['image/webp', 'RIFF'],
    pdf: ['application/pdf', '%PDF'],
    eps: ['application/postscript', '%!PS'],
  } as const;
  for (const [format, [type, start]] of Object.entries(types)) {
    const image = await imageOf(code, `${format}?size=400`);
    expect([image.status, image.headers['content-type']]).toEqual([200, type]);
    expect(image.bytes.toString('latin1')).toMatch(start);
  }
  const picture = readPng((await imageOf(code, 'png?size=400')).bytes);
  expect(picture.width).toBe(400);
  expect(await scanBoth(picture)).toEqual([printed(code), printed(code)]);
});

test('an image is the same bytes after its target has changed, for ever', async () => {
  const code = await make({ eyeColor: '#9e2a2b' });
  const before = await imageOf(code, 'png');
  const body = { target: 'https://example.com/other', name: 'x' };
  expect((await client.patch(pathOf(code), body)).json.imageUrl).toBe(code.imageUrl);
  const after = await imageOf(code, 'png');
  expect(after.bytes.equals(before.bytes)).toBe(true);
  expect(after.headers.etag).toBe(before.headers.etag);
  const asked = await imageOf(code, 'png?foreground=%23ff0000&dotStyle=dots&margin=0');
  expect(asked.bytes.equals(before.bytes)).toBe(true);
});

test('a new design is a new image under a new address; the old one is not immutable any more', async () => {
  const code = await make();
  const first = await imageAt(code.imageUrl);
  const forEver = 'public, max-age=31536000, immutable';
  expect(first.headers['cache-control']).toBe(forEver);
  const { json } = await client.patch(pathOf(code), { design: { dotStyle: 'dots' } });
  expect(json.imageUrl).not.toBe(code.imageUrl);
  const now = await imageAt(code.imageUrl);
  expect(now.headers['cache-control']).toBe('public, max-age=300');
  expect(now.headers.etag).not.toBe(first.headers.etag);
  expect((await imageAt(json.imageUrl)).headers['cache-control']).toBe(forEver);
  const known = await imageOf(code, 'png', { 'if-none-match': word(now.headers.etag) });
  expect([known.status, known.bytes.length]).toEqual([304, 0]);
});

describe('PATCH and PUT', () => {
  const patch = async (id: unknown, design: unknown) =>
    await client.patch(`/v1/qr-codes/${word(id)}`, { design });

  test('merge at every depth, reset by null, and emit only what changed', async () => {
    const { id } = await make({ foreground: '#123456', margin: 2 });
    const gradient = { from: '#003366', to: '#660033' };
    expect((await patch(id, { gradient, margin: null })).json.design).toEqual({
      foreground: '#123456',
      gradient,
    });
    expect((await patch(id, { gradient: { to: '#000' } })).json.design).toEqual({
      foreground: '#123456',
      gradient: { from: '#003366', to: '#000' },
    });
    expect((await patch(id, { gradient: { to: '#000' } })).status).toBe(200);
    expect((await patch(id, null)).json.design).toBe(null);
    const events = await eventsOf(id);
    expect(events).toHaveLength(3);
    for (const event of events) {
      expect(Object.keys(event.before ?? {})).toEqual(['design']);
      expect(Object.keys(event.after ?? {})).toEqual(['design']);
    }
    expect(events[0]?.after?.design).toBe(null);
  });

  test('a change of the name leaves the design; PUT without one resets it', async () => {
    const path = pathOf(await make({ margin: 2 }));
    expect((await client.patch(path, { name: 'n' })).json.design).toEqual({ margin: 2 });
    const design = { margin: 3 };
    expect((await client.put(path, { target, design })).json.design).toEqual(design);
    expect((await client.put(path, { target })).json.design).toBe(null);
  });

  test('an unreadable design changes nothing and emits nothing', async () => {
    const code = await make({ margin: 2 });
    const refused = await patch(code.id, { foreground: '#fff', background: '#000' });
    expect([refused.status, refused.json.code]).toEqual([422, 'unscannable']);
    expect(refused.faults).toMatchObject([{ path: 'design.foreground', code: 'inverted' }]);
    const broken = await patch(code.id, { gradient: { to: '#000' } });
    expect([broken.status, broken.json.code]).toEqual([422, 'validation_failed']);
    const { json } = await client.get(`/v1/qr-codes/${word(code.id)}`);
    expect(json).toEqual(code);
    expect(await eventsOf(code.id)).toEqual([]);
  });

  test('changes of one design at the same time all arrive', async () => {
    const { id } = await make();
    const changes = [
      { margin: 5 },
      { dotStyle: 'dots' },
      { eyeStyle: 'circle' },
      { eyeColor: '#700' },
    ];
    const answers = await Promise.all(changes.map((design) => patch(id, design)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    const { json } = await client.get(`/v1/qr-codes/${word(id)}`);
    expect(json.design).toEqual(Object.assign({}, ...changes));
  });
});

describe('refusals of a create', () => {
  test.each<[object, number, string, string]>([
    [{ foreground: '#aaa' }, 422, 'unscannable', 'design.foreground'],
    [{ logo: roundLogoUrl, errorCorrection: 'L', logoScale: 0.25 }, 422, 'unscannable', 'design'],
    [{ foreground: 'blue' }, 422, 'validation_failed', 'design.foreground'],
    [{ colour: '#000' }, 422, 'validation_failed', 'design.colour'],
    [{ logo: `logo:${'0'.repeat(32)}` }, 422, 'validation_failed', 'design.logo'],
    [{ logo: 'data:image/png;base64,AAAA' }, 422, 'validation_failed', 'design.logo'],
  ])('%o', async (design, status, code, path) => {
    const answer = await client.post('/v1/qr-codes', { target, design });
    expect([answer.status, answer.json.code]).toEqual([status, code]);
    expect(answer.faults.map((fault) => fault.path)).toEqual([path]);
  });

  test('a logo above 256 KB is refused, one below is taken by a body above 64 KB', async () => {
    const large = `data:image/png;base64,${'A'.repeat(350_000)}`;
    const refused = await client.post('/v1/qr-codes', { target, design: { logo: large } });
    expect([refused.status, refused.json.code]).toEqual([422, 'validation_failed']);
    const padded = Buffer.from(`${roundLogo}<!--${'x'.repeat(150_000)}-->`).toString('base64');
    await make({ logo: `data:image/svg+xml;base64,${padded}` });
    const huge = await client.call('POST', '/v1/qr-codes', { raw: `"${'x'.repeat(600_000)}"` });
    expect(huge.status).toBe(413);
  });
});

describe('logos', () => {
  const upload = async (raw: Uint8Array | string, type: string) =>
    await client.call('POST', '/v1/logos', { raw, headers: { 'content-type': type } });

  test('a file becomes a logo for designs', async () => {
    const file = roundLogo.replace('#e4572e', '#1d3557');
    const answer = await upload(Buffer.from(file), 'image/svg+xml');
    expect([answer.status, answer.json.width]).toEqual([201, 1024]);
    const location = word(answer.headers.location);
    expect(location).toBe(`/v1/logos/${word(answer.json.id)}`);
    for (const path of [location, location.replace(':', '%3A')]) {
      expect((await client.get(path)).json).toEqual(answer.json);
    }
    const same = await client.post('/v1/logos', {
      data: `data:image/svg+xml;base64,${Buffer.from(file).toString('base64')}`,
    });
    expect(same.json.id).toBe(answer.json.id);
    await make({ logo: answer.json.id });
    const list = await client.get('/v1/logos');
    expect(list.items.find(({ id }) => id === answer.json.id)).toMatchObject({ codes: 1 });
  });

  test('unsafe and unknown files are refused', async () => {
    const script = roundLogo.replace('</svg>', '<script>1</script></svg>');
    expect((await upload(script, 'image/svg+xml')).faults).toMatchObject([{ code: 'unsafe' }]);
    expect((await upload('GIF89a', 'image/png')).faults).toMatchObject([{ code: 'wrong_type' }]);
    expect((await upload('x', 'image/gif')).status).toBe(415);
    expect((await upload('x'.repeat(600_000), 'image/png')).status).toBe(413);
    const { status } = await client.post('/v1/logos', { data: 'http://example.com/a.png' });
    expect(status).toBe(422);
  });

  test('logos belong to one workspace', async () => {
    const answer = await upload(roundLogo.replace('#e4572e', '#123123'), 'image/svg+xml');
    const key = await makeStranger(service);
    expect((await client.get('/v1/logos', { key })).items).toEqual([]);
    for (const id of ['logo:x', `logo:${'0'.repeat(3_000)}`]) {
      expect((await client.get(`/v1/logos/${id}`, { key })).status).toBe(404);
    }
    const body = { target, design: { logo: answer.json.id } };
    const refused = await client.post('/v1/qr-codes', body, { key });
    expect(refused.faults).toMatchObject([{ path: 'design.logo', code: 'not_found' }]);
  });
});

describe('preview', () => {
  const preview = async (body: object) => await client.post('/v1/qr-codes/preview', body);

  test('draws a code, a target or a sample, and stores nothing', async () => {
    const code = await make({ dotStyle: 'dots' });
    const before = (await client.get('/v1/logos')).items.length;
    const design = { dotStyle: 'rounded', logo: roundLogoUrl };
    const own = await preview({ id: code.id, design, format: 'png', size: 300 });
    expect([own.status, own.headers['content-type']]).toEqual([200, 'image/png']);
    expect(await scanBoth(readPng(own.bytes))).toEqual([printed(code), printed(code)]);
    const wifi = 'WIFI:T:WPA;S:Net;P:password;;';
    const still = await preview({ target: wifi, type: 'wifi', format: 'png' });
    expect((await scanBoth(readPng(still.bytes)))[1]).toBe(wifi);
    expect((await preview({ design: { eyeColor: '#900' } })).text).toMatch(/^<svg /);
    expect((await client.get('/v1/logos')).items).toHaveLength(before);
    expect((await client.get(pathOf(code))).json).toEqual(code);
  });

  test('says why a design is refused', async () => {
    const faint = await preview({ design: { foreground: '#ccc' } });
    expect([faint.status, faint.json.code]).toEqual([422, 'unscannable']);
    expect((await preview({ id: 'qr_00000000000000000000' })).status).toBe(404);
    expect((await preview({ id: 'qr_1', target })).status).toBe(422);
    expect((await preview({ target: 'javascript:1' })).status).toBe(422);
  });
});

describe('an archive', () => {
  const archive = async (body: object) => await client.post('/v1/qr-codes/images', body);

  test('holds the images of all the codes asked for, and each reads back', async () => {
    const name = 'Same name';
    const codes = [
      await make(undefined, { name }),
      await make({ dotStyle: 'rounded', logo: roundLogoUrl }, { name }),
      await make(undefined, { type: 'text', target: 'Hello, world', name: '../a/b' }),
    ];
    const ids = codes.map(({ id }) => id);
    const answer = await archive({ ids, format: 'png', size: 300 });
    expect([answer.status, answer.headers['content-type']]).toEqual([200, 'application/zip']);
    const files = Object.entries(unzipSync(answer.bytes));
    expect(files.map(([name]) => name)).toEqual([
      `Same-name-${word(codes[0]?.slug)}.png`,
      `Same-name-${word(codes[1]?.slug)}.png`,
      `a-b-${word(ids[2])}.png`,
    ]);
    const found: unknown[] = [];
    for (const [, file] of files) found.push((await scanBoth(readPng(file)))[1]);
    expect(found).toEqual([...codes.slice(0, 2).map(printed), 'Hello, world']);
  });

  test('costs one request; unknown, deleted and repeated ids are 422', async () => {
    const one = await make();
    const gone = await make();
    await client.delete(`/v1/qr-codes/${word(gone.id)}`);
    const unknown = await archive({ ids: [one.id, gone.id, 'qr_00000000000000000000', 'x'] });
    expect(unknown.faults.map(({ path }) => path)).toEqual(['ids.1', 'ids.2', 'ids.3']);
    for (const ids of [[], [one.id, one.id]]) expect((await archive({ ids })).status).toBe(422);
    const left = ({ headers }: Answer): number => Number(headers['x-ratelimit-remaining']);
    const before = left(await client.get('/v1/qr-codes?limit=1'));
    expect(left(await archive({ ids: [one.id] }))).toBe(before - 1);
  });
});
