/** Designs, logos, previews, archives and images through the API, drawn for real. */
import { unzipSync } from 'fflate';
import { request } from 'undici';
import { describe, expect, test } from 'vitest';
import { roundLogo, roundLogoUrl } from '../images/sample-designs.ts';
import { readPng, scanBoth } from '../images/read-image.ts';
import { type Json, word } from '../support/client.ts';
import { OffsetClock } from '../support/fakes/offset-clock.ts';
import { useTestApi } from '../support/test-client.ts';

const target = 'https://example.com/menu';
const clock = new OffsetClock();
const { service, client } = await useTestApi({ clock, images: 'drawn' });

async function make(design?: object, more: object = {}): Promise<Json> {
  const answer = await client.post('/v1/qr-codes', { target, design, ...more });
  if (answer.status !== 201) throw new Error(`Cannot make a code: ${answer.text}`);
  return answer.json;
}

async function bytesOf(path: string, headers: Record<string, string> = {}) {
  const answer = await request(`${service.url}${path}`, { headers });
  const body = Buffer.from(await answer.body.arrayBuffer());
  return { status: answer.statusCode, headers: answer.headers, body };
}

async function post(path: string, body: object) {
  const answer = await request(`${service.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${service.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const bytes = Buffer.from(await answer.body.arrayBuffer());
  return { status: answer.statusCode, headers: answer.headers, body: bytes };
}

async function eventsOf(id: unknown): Promise<readonly Json[]> {
  const { items } = await client.get('/v1/events?type=qr.updated&limit=100');
  return items.filter((event) => event.data?.id === id).map((event) => event.data ?? {});
}

describe('a code with a design', () => {
  test('answers it, has an image in every format, and reads as the short URL', async () => {
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
      const image = await bytesOf(`/i/${word(code.id)}.${format}?size=400`);
      expect([image.status, image.headers['content-type']]).toEqual([200, type]);
      expect(image.body.toString('latin1')).toMatch(start);
      if (format !== 'png') continue;
      const picture = readPng(image.body);
      expect(picture.width).toBe(400);
      const printed = word(code.shortUrl).toUpperCase();
      expect(await scanBoth(picture)).toEqual([printed, printed]);
    }
  });

  test('its image is the same bytes after its target has changed, for ever', async () => {
    const code = await make({ eyeColor: '#9e2a2b' });
    const before = await bytesOf(`/i/${word(code.id)}.png`);
    const body = { target: 'https://example.com/other', name: 'x' };
    const { json } = await client.patch(`/v1/qr-codes/${word(code.id)}`, body);
    expect(json.imageUrl).toBe(code.imageUrl);
    const after = await bytesOf(`/i/${word(code.id)}.png`);
    expect(after.body.equals(before.body)).toBe(true);
    expect(after.headers.etag).toBe(before.headers.etag);
  });

  test('a new design is a new image under a new address; the old one is not immutable any more', async () => {
    const code = await make();
    const old = new URL(word(code.imageUrl));
    const first = await bytesOf(`${old.pathname}${old.search}`);
    expect(first.headers['cache-control']).toBe('public, max-age=31536000, immutable');
    const body = { design: { dotStyle: 'dots' } };
    const { json } = await client.patch(`/v1/qr-codes/${word(code.id)}`, body);
    expect(json.imageUrl).not.toBe(code.imageUrl);
    const now = await bytesOf(`${old.pathname}${old.search}`);
    expect(now.headers['cache-control']).toBe('public, max-age=300');
    expect(now.headers.etag).not.toBe(first.headers.etag);
    const fresh = new URL(word(json.imageUrl));
    const image = await bytesOf(`${fresh.pathname}${fresh.search}`);
    expect(image.headers['cache-control']).toBe('public, max-age=31536000, immutable');
    const known = await bytesOf(`/i/${word(code.id)}.png`, {
      'if-none-match': word(now.headers.etag),
    });
    expect([known.status, known.body.length]).toEqual([304, 0]);
  });

  test('no query changes how it looks', async () => {
    const code = await make();
    const plain = await bytesOf(`/i/${word(code.id)}.png`);
    const asked = await bytesOf(
      `/i/${word(code.id)}.png?foreground=%23ff0000&dotStyle=dots&margin=0`,
    );
    expect(asked.body.equals(plain.body)).toBe(true);
  });

  test('too small a size is 422 with the smallest that fits; too large is 422', async () => {
    const long = `https://example.com/${'a'.repeat(900)}`;
    const code = await make(undefined, { target: long, dynamic: false });
    const small = await client.get(`/i/${word(code.id)}.png?size=64`, { key: undefined });
    expect([small.status, small.json.code]).toEqual([422, 'validation_failed']);
    expect(small.faults[0]?.message).toMatch(/at least 1\d\d pixels/);
    const points = await client.get(`/i/${word(code.id)}.pdf?size=64`, { key: undefined });
    expect(points.faults[0]?.message).toMatch(/points/);
    expect((await bytesOf(`/i/${word(code.id)}.webp?size=4097`)).status).toBe(422);
  });
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
    const { id } = await make({ margin: 2 });
    const named = await client.patch(`/v1/qr-codes/${word(id)}`, { name: 'n' });
    expect(named.json.design).toEqual({ margin: 2 });
    const body = { target, design: { margin: 3 } };
    expect((await client.put(`/v1/qr-codes/${word(id)}`, body)).json.design).toEqual({
      margin: 3,
    });
    const reset = await client.put(`/v1/qr-codes/${word(id)}`, { target });
    expect(reset.json.design).toBe(null);
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
    [{ foreground: '#fff', background: '#333' }, 422, 'unscannable', 'design.foreground'],
    [{ background: 'transparent', foreground: '#bbb' }, 422, 'unscannable', 'design.foreground'],
    [{ logo: roundLogoUrl, errorCorrection: 'L', logoScale: 0.25 }, 422, 'unscannable', 'design'],
    [{ foreground: 'blue' }, 422, 'validation_failed', 'design.foreground'],
    [{ colour: '#000' }, 422, 'validation_failed', 'design.colour'],
    [{ logo: `logo:${'0'.repeat(32)}` }, 422, 'validation_failed', 'design.logo'],
    [{ logo: 'data:image/png;base64,AAAA' }, 422, 'validation_failed', 'design.logo'],
    [{ logoScale: 0.3 }, 422, 'validation_failed', 'design.logoScale'],
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
    expect((await upload('{"data":"http://example.com/a.png"}', 'application/json')).status).toBe(
      422,
    );
  });

  test('logos belong to one workspace', async () => {
    const answer = await upload(roundLogo.replace('#e4572e', '#123123'), 'image/svg+xml');
    const { users, workspaces, keys } = service.workspaces;
    const user = await users.create(1, 'viewer', { email: 'x@example.com', name: 'X' });
    const other = await workspaces.create(user.id, 'Other');
    const { token: key } = await keys.create({
      workspaceNo: other.no,
      userId: user.id,
      name: 'k',
      role: 'owner',
    });
    expect((await client.get('/v1/logos', { key })).items).toEqual([]);
    for (const id of [word(answer.json.id), 'logo:x', `logo:${'0'.repeat(3_000)}`]) {
      expect((await client.get(`/v1/logos/${id}`, { key })).status).toBe(404);
    }
    const body = { target, design: { logo: answer.json.id } };
    const refused = await client.post('/v1/qr-codes', body, { key });
    expect(refused.faults).toMatchObject([{ path: 'design.logo', code: 'not_found' }]);
  });
});

describe('preview', () => {
  test('draws a code, a target or a sample, and stores nothing', async () => {
    const code = await make({ dotStyle: 'dots' });
    const before = (await client.get('/v1/logos')).items.length;
    const design = { dotStyle: 'rounded', logo: roundLogoUrl };
    const own = await post('/v1/qr-codes/preview', {
      id: code.id,
      design,
      format: 'png',
      size: 300,
    });
    expect([own.status, own.headers['content-type']]).toEqual([200, 'image/png']);
    const printed = word(code.shortUrl).toUpperCase();
    expect(await scanBoth(readPng(own.body))).toEqual([printed, printed]);
    const wifi = 'WIFI:T:WPA;S:Net;P:password;;';
    const still = await post('/v1/qr-codes/preview', { target: wifi, type: 'wifi', format: 'png' });
    expect((await scanBoth(readPng(still.body)))[1]).toBe(wifi);
    const sample = await post('/v1/qr-codes/preview', { design: { eyeColor: '#900' } });
    expect(sample.body.toString()).toMatch(/^<svg /);
    expect((await client.get('/v1/logos')).items).toHaveLength(before);
    expect((await client.get(`/v1/qr-codes/${word(code.id)}`)).json).toEqual(code);
  });

  test('says why a design is refused', async () => {
    const call = async (body: object) => await client.post('/v1/qr-codes/preview', body);
    const faint = await call({ design: { foreground: '#ccc' } });
    expect([faint.status, faint.json.code]).toEqual([422, 'unscannable']);
    expect((await call({ id: 'qr_00000000000000000000' })).status).toBe(404);
    expect((await call({ id: 'qr_1', target })).status).toBe(422);
    expect((await call({ target: 'javascript:1' })).status).toBe(422);
    expect((await call({ size: 5_000 })).status).toBe(422);
  });
});

describe('an archive', () => {
  test('holds the images of all the codes asked for, and each reads back', async () => {
    const codes = [
      await make(undefined, { name: 'Same name' }),
      await make({ dotStyle: 'rounded', logo: roundLogoUrl }, { name: 'Same name' }),
      await make(undefined, {
        type: 'text',
        target: 'Hello, world',
        dynamic: false,
        name: '../a/b',
      }),
    ];
    const ids = codes.map(({ id }) => id);
    const answer = await post('/v1/qr-codes/images', { ids, format: 'png', size: 300 });
    expect([answer.status, answer.headers['content-type']]).toEqual([200, 'application/zip']);
    const files = Object.entries(unzipSync(answer.body));
    expect(files.map(([name]) => name)).toEqual([
      `Same-name-${word(codes[0]?.slug)}.png`,
      `Same-name-${word(codes[1]?.slug)}.png`,
      `a-b-${word(ids[2])}.png`,
    ]);
    const found = await Promise.all(
      files.map(async ([, file]) => (await scanBoth(readPng(file)))[1]),
    );
    const urls = codes.slice(0, 2).map(({ shortUrl }) => word(shortUrl).toUpperCase());
    expect(found).toEqual([...urls, 'Hello, world']);
  });

  test('costs one request; unknown, deleted and repeated ids are 422', async () => {
    const one = await make();
    const gone = await make();
    await client.delete(`/v1/qr-codes/${word(gone.id)}`);
    const call = async (ids: unknown) => await client.post('/v1/qr-codes/images', { ids });
    const unknown = await call([one.id, gone.id, 'qr_00000000000000000000', 'x']);
    expect(unknown.faults.map(({ path }) => path)).toEqual(['ids.1', 'ids.2', 'ids.3']);
    for (const ids of [
      [],
      [one.id, one.id],
      Array.from({ length: 1_001 }, (_, at) => `qr_${at}`),
    ]) {
      expect((await call(ids)).status).toBe(422);
    }
    // To the begin of a minute: the count that is compared is that of a minute.
    clock.offsetMs += 60_000 - (clock.now() % 60_000);
    const before = await client.get('/v1/qr-codes?limit=1');
    const archive = await post('/v1/qr-codes/images', { ids: [one.id] });
    const left = Number(before.headers['x-ratelimit-remaining']);
    expect(Number(archive.headers['x-ratelimit-remaining'])).toBe(left - 1);
  });
});
