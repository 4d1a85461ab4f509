/** Uploaded logos: what is stored is harmless, hostile files are refused cheaply; the logo of a brand fits a page. */
import { createServer } from 'node:http';
import { crc32, deflateSync } from 'node:zlib';
import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import type { LogoMediaType } from '../../../src/product/images/formats.ts';
import { cleanLogo, drawBrandLogo } from '../../../src/product/images/logo/logo.ts';
import { Logos } from '../../../src/product/images/logo/logos.ts';
import { svgCost, svgCostMax } from '../../../src/product/images/logo/svg-cost.ts';
import { localTasks } from '../../../src/product/images/tasks.ts';
import { Failure } from '../../../src/model/failure.ts';
import { brandLogoBytesMax } from '../../../src/model/routing/pages.ts';
import { termKey } from '../../../src/store/management/code-keys.ts';
import { temporaryManagement } from '../../store/temporary-management.ts';
import { TestClock } from '../../support/fakes/test-clock.ts';
import { StoredBytes } from '../../support/stored-bytes.ts';
import { readPng } from './read-image.ts';
import { roundLogo } from './sample-designs.ts';

const svgOf = (inside: string, attributes = 'viewBox="0 0 100 100"'): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" ${attributes}>${inside}</svg>`;
const svg = (...parts: Parameters<typeof svgOf>): Buffer => Buffer.from(svgOf(...parts));
const path = '<path d="M0 0h9v9z"/>';
/** Each element stands for twice the one before. */
const doubled = Array.from({ length: 30 }, (_none, at) =>
  at === 0
    ? `<g id="l0">${path}</g>`
    : `<g id="l${at}"><use href="#l${at - 1}"/><use href="#l${at - 1}"/></g>`,
).join('');
const square = async (edge: number, format: 'png' | 'jpeg'): Promise<Buffer> =>
  await sharp({ create: { width: edge, height: edge, channels: 3, background: '#e4572e' } })
    .toFormat(format)
    .toBuffer();

async function codeOf(bytes: Uint8Array, type: LogoMediaType = 'image/svg+xml'): Promise<string> {
  const failure: unknown = await cleanLogo(bytes, type).catch((error: unknown) => error);
  if (!(failure instanceof Failure)) return 'accepted';
  expect(failure.code).toBe('validation_failed');
  return failure.faults.map(({ path, code }) => `${path} ${code}`).join();
}

describe('cleanLogo', () => {
  test('an SVG becomes a PNG of 1,024 pixels, with its transparency', async () => {
    const { png, width, height } = await cleanLogo(Buffer.from(roundLogo), 'image/svg+xml');
    expect([width, height]).toEqual([1024, 1024]);
    const { rgba } = readPng(png);
    expect([rgba[3], rgba[(512 * 1024 + 60) * 4 + 3]]).toEqual([0, 255]);
  });

  test('a wide one keeps its shape, a small picture its size, a large one is made smaller', async () => {
    const wide = await cleanLogo(
      svg('<path d="M0 0h9v9z"/>', 'viewBox="0 0 300 100"'),
      'image/svg+xml',
    );
    expect([wide.width, wide.height]).toEqual([1024, 341]);
    const small = await cleanLogo(await square(40, 'png'), 'image/png');
    expect([small.width, small.height]).toEqual([40, 40]);
    const large = await cleanLogo(await square(3_000, 'jpeg'), 'image/jpeg');
    expect([large.width, large.height]).toEqual([1024, 1024]);
  });

  test('nothing of the file survives but its pixels', async () => {
    const noted = await sharp(await square(50, 'jpeg'))
      .withExif({ IFD0: { Copyright: 'secret-note' } })
      .jpeg()
      .toBuffer();
    expect(noted.includes('secret-note')).toBe(true);
    const { png } = await cleanLogo(noted, 'image/jpeg');
    expect(Buffer.from(png).includes('secret-note')).toBe(false);
  });

  test('a photograph that makes a large PNG is kept at half the edge', async () => {
    const noise = await sharp({
      create: {
        width: 1_000,
        height: 1_000,
        channels: 3,
        background: '#fff',
        noise: { type: 'gaussian', mean: 128, sigma: 60 },
      },
    })
      .jpeg({ quality: 10 })
      .toBuffer();
    const { png, width } = await cleanLogo(noise, 'image/jpeg');
    expect(width).toBe(512);
    expect(png.length).toBeLessThan(1_048_576);
  });

  test.each<[string, Buffer, string]>([
    ['a script', svg('<script>alert(1)</script>'), 'unsafe'],
    [
      'a script with a prefix',
      svg('<svg:script xmlns:svg="http://www.w3.org/2000/svg"/>'),
      'unsafe',
    ],
    ['an image of the web', svg('<image href="http://127.0.0.1:1/a.png"/>'), 'unsafe'],
    ['an image of the disk', svg('<image href="file:///etc/hostname"/>'), 'unsafe'],
    ['a relative image', svg("<image xlink:href='../../a.png'/>"), 'unsafe'],
    ['a reference in entities', svg('<image href="&#104;ttp://127.0.0.1/"/>'), 'unsafe'],
    ['an SVG in a data URL', svg('<image href="data:image/svg+xml,%3Csvg/%3E"/>'), 'unsafe'],
    ['another file’s gradient', svg('<path fill="url(a.svg#b)" d="M0 0h9v9z"/>'), 'unsafe'],
    [
      'a quoted address in CSS',
      svg('<path style="fill:url(\'//a/b#c\')" d="M0 0h9v9z"/>'),
      'unsafe',
    ],
    ['a style sheet', svg('<style>@import "a.css"</style>'), 'unsafe'],
    ['an XML style sheet', Buffer.from(`<?xml-stylesheet href="a"?>${roundLogo}`), 'unsafe'],
    ['an entity', Buffer.from(`<!DOCTYPE svg [<!ENTITY a "b">]>${roundLogo}`), 'unsafe'],
    ['an included file', svg('<xi:include href="file:///etc/passwd"/>'), 'unsafe'],
    ['UTF-16', Buffer.from(`\ufeff${roundLogo}`, 'utf16le'), 'unreadable'],
    [
      'another declared encoding',
      Buffer.from(`<?xml version="1.0" encoding="UTF-7"?>${roundLogo}`),
      'unreadable',
    ],
    ['no SVG', Buffer.from('<html><body/></html>'), 'wrong_type'],
    ['a broken SVG', svg('<path d="M0 0h9v9z">'), 'too_complex'],
    ['a broken namespace', svg('<a:path/>'), 'unreadable'],
    ['a compressed one', deflateSync(Buffer.from(roundLogo)), 'unreadable'],
    ['no size', svg('', 'width="0" height="0"'), 'unreadable'],
  ])('%s is refused', async (_name, bytes, code) => {
    expect(await codeOf(bytes)).toBe(`design.logo ${code}`);
  });

  test('no file and no address is read on the way', async () => {
    const seen: string[] = [];
    const canary = createServer((request, response) => {
      seen.push(request.url ?? '');
      response.end();
    });
    await new Promise<void>((resolve) => canary.listen(0, '127.0.0.1', resolve));
    const address = canary.address();
    const port = typeof address === 'object' ? address?.port : 0;
    const url = `http://127.0.0.1:${port}/x`;
    for (const inside of [
      `<image href="${url}"/>`,
      `<use href="${url}#a"/>`,
      `<style>@import url(${url})</style>`,
    ]) {
      expect(await codeOf(svg(inside))).toBe('design.logo unsafe');
      // And if the check were not there: librsvg itself reads nothing.
      await sharp(svg(inside))
        .png()
        .toBuffer()
        .catch(() => undefined);
    }
    canary.close();
    expect(seen).toEqual([]);
  });

  test('a bomb of repetitions ends in a moment', async () => {
    expect(await codeOf(svg(doubled))).toBe('design.logo too_complex');
  });

  test('a PNG bomb is refused by its header', async () => {
    const header = Buffer.alloc(25);
    header.writeUInt32BE(13, 0);
    header.write('IHDR', 4);
    header.writeUInt32BE(60_000, 8);
    header.writeUInt32BE(60_000, 12);
    header.set([8, 6, 0, 0, 0], 16);
    header.writeUInt32BE(crc32(header.subarray(4, 21)), 21);
    const bomb = Buffer.concat([
      Buffer.from('89504e470d0a1a0a', 'hex'),
      header,
      Buffer.alloc(1_000),
    ]);
    expect(await codeOf(bomb, 'image/png')).toMatch(/too_big|unreadable/);
  });

  test('a file must be of its media type', async () => {
    expect(await codeOf(await square(40, 'png'), 'image/jpeg')).toBe('design.logo wrong_type');
    expect(await codeOf(await square(40, 'jpeg'), 'image/png')).toBe('design.logo wrong_type');
    expect(await codeOf((await square(40, 'png')).subarray(0, 60), 'image/png')).toBe(
      'design.logo unreadable',
    );
    expect(await codeOf(Buffer.alloc(262_145), 'image/png')).toBe('design.logo too_big');
    expect(await codeOf(Buffer.alloc(0), 'image/png')).toBe('design.logo wrong_type');
  });
});

describe('Logos', () => {
  const open = () => {
    const { store } = temporaryManagement();
    const clock = new TestClock();
    const logos = new Logos({ store, clock, tasks: localTasks });
    return { logos, store, clock };
  };

  test('the same file is the same logo, in each workspace its own', async () => {
    const { logos, store } = open();
    const file = await square(40, 'png');
    const first = await logos.add(1, file, 'image/png');
    expect(first.id).toMatch(/^logo:[0-9a-f]{32}$/);
    expect(await logos.add(1, file, 'image/png')).toEqual(first);
    expect(logos.list(1)).toEqual([first]);
    expect([logos.find(2, first.id), logos.list(2)]).toEqual([undefined, []]);
    await logos.add(2, file, 'image/png');
    expect(store.logos.files.count({})).toBe(1);
    const { width, height, png } = logos.picture(first.id);
    expect([width, height, png.length]).toEqual([40, 40, first.bytes]);
  });

  test('a damaged picture is an error, until the same file is uploaded again', async () => {
    const { logos, store } = open();
    const file = await square(40, 'png');
    const { id } = await logos.add(1, file, 'image/png');
    const picture = logos.picture(id);
    const stored = new StoredBytes(store.environment.path);
    stored.flip('logo_files', stored.keys('logo_files')[0]!, 300);
    await stored.close();
    store.environment.refresh();
    expect(() => logos.picture(id)).toThrow(/damaged/);
    await logos.add(1, file, 'image/png');
    expect(logos.picture(id)).toEqual(picture);
    expect(() => logos.picture('0'.repeat(32))).toThrow(/is missing/);
  });

  test('at its bound a workspace loses its oldest unused logos, after a day; none that is used', async () => {
    const { logos, store, clock } = open();
    const picture = (at: number) => ({ png: Buffer.from(`picture ${at}`), width: 1, height: 1 });
    const used = await logos.store(1, picture(0));
    const oldest = await logos.store(1, picture(1));
    const names = Array.from({ length: 198 }, (_none, at) => `${at}`.padStart(32, '0'));
    await store.environment.transaction(() => {
      const position = { createdAtMs: 1, no: 1 };
      store.codeTerms.put(termKey(1, { kind: 'logo', text: used.id }, position), 1);
      for (const name of names) {
        const createdAtMs = clock.now() + 1;
        store.logos.logos.put([1, name], { width: 1, height: 1, bytes: 1, createdAtMs });
        store.logos.owners.put([name, 1], 1);
      }
    });
    await expect(logos.store(1, picture(200))).rejects.toMatchObject({ code: 'conflict' });
    await expect(logos.store(2, picture(200))).resolves.toBeDefined();
    clock.move(86_400_000 + 1_000);
    await logos.store(1, picture(201));
    const kept = logos.list(1);
    expect(kept).toHaveLength(200);
    expect(kept.find(({ id }) => id === used.id)?.codes).toBe(1);
    expect(kept.find(({ id }) => id === oldest.id)).toBeUndefined();
    const hasFile = ({ id }: { id: string }) => store.logos.files.has(id.replace('logo:', ''));
    expect([hasFile(used), hasFile(oldest)]).toEqual([true, false]);
  });
});

/** Pixels that no format packs well: the worst photograph. */
async function noise(width: number, height: number): Promise<Buffer> {
  let seed = 1;
  const bytes = Buffer.from(
    Array.from({ length: width * height * 4 }, () => {
      seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
      return seed >>> 24;
    }),
  );
  return await sharp(bytes, { raw: { width, height, channels: 4 } })
    .png()
    .toBuffer();
}

describe('drawBrandLogo', () => {
  test('draws shapes as WebP with their transparency', async () => {
    const drawn = await drawBrandLogo(Buffer.from(roundLogo), 'image/svg+xml');
    expect(drawn.length).toBeLessThanOrEqual(brandLogoBytesMax);
    const { format, width, height, hasAlpha } = await sharp(drawn).metadata();
    expect([format, hasAlpha, width === height]).toEqual(['webp', true, true]);
    expect(height).toBeGreaterThanOrEqual(48);
  });

  test.each([
    [250, 250],
    [700, 90],
    [20, 3_000],
    [1, 1],
  ])('fits whatever the picture has: %i x %i', async (width, height) => {
    const drawn = await drawBrandLogo(await noise(width, height), 'image/png');
    expect(drawn.length).toBeLessThanOrEqual(brandLogoBytesMax);
    const shape = await sharp(drawn).metadata();
    const isSmall = width <= 384 && height <= 128;
    if (!isSmall) expect(shape.width < width || shape.height < height).toBe(true);
  });

  test('refuses what no logo may be', async () => {
    await expect(drawBrandLogo(svg('<script/>'), 'image/svg+xml')).rejects.toThrow(
      'holds a script',
    );
    await expect(drawBrandLogo(Buffer.from('no'), 'image/png')).rejects.toThrow('is not image/png');
  });
});

/** Logos as drawing programs write them are cheap; what multiplies is dear, and known to be undrawn. */

describe('svgCost', () => {
  test('counts elements, and again what is referred to', () => {
    expect(svgCost(roundLogo)).toBe(4);
    expect(
      svgCost(svgOf(`<g id="a">${path}${path}</g><use href="#a"/><use xlink:href='#a'/>`)),
    ).toBe(12);
    expect(svgCost(svgOf('<path stroke-dasharray="none"/>'))).toBe(2);
    expect(svgCost(svgOf(`<!-- <path/> --><style><![CDATA[ <path/> ]]></style>${path}`))).toBe(3);
  });

  test('takes what Figma, Sketch and Illustrator write', () => {
    const figma = svgOf(
      `<g clip-path="url(#clip0)"><g filter="url(#f0)">${path}</g></g><defs><clipPath id="clip0"><rect/></clipPath>` +
        '<filter id="f0"><feFlood/><feColorMatrix/><feOffset/><feGaussianBlur/><feBlend/></filter></defs>',
    );
    const sketch = svgOf(
      `<defs><path id="p1" d="M0 0"/></defs><mask id="m"><use xlink:href="#p1"/></mask><use fill="#fff" xlink:href="#p1"/><g mask="url(#m)">${path}</g>`,
    );
    const illustrator = svgOf(
      `<style>.cls-1{fill:#f00;opacity:.5}</style>${'<path class="cls-1" d="M0 0"/>'.repeat(100)}`,
    );
    for (const logo of [figma, sketch, illustrator]) {
      expect(svgCost(logo)).toBeLessThan(svgCostMax);
    }
  });

  test.each<[string, string]>([
    ['doublings', doubled],
    [
      'doublings through masks',
      doubled.replaceAll(/<use href="(#\w+)"\/>/g, '<g mask="url($1)"/>'),
    ],
    ['a circle', '<g id="a"><use href="#b"/></g><g id="b"><use href="#a"/></g>'],
    ['itself', '<g id="a"><use href="#a"/></g>'],
    ['an id in disguise', `<g id="&#97;">${path}</g>`],
    ['many layers', '<g opacity=".5">'.repeat(500) + '</g>'.repeat(500)],
    ['layers by class', `<style>.a{opacity:.5}</style>${'<path class="a"/>'.repeat(500)}`],
    ['masks by class', `<style>.a{mask:url(#m)}</style>${path}`],
    ['many filter steps', `<filter>${'<feGaussianBlur/>'.repeat(21)}</filter>`],
    [
      'a filter used often',
      `<filter id="f"><feGaussianBlur/></filter>${'<g filter="url(#f)"/>'.repeat(20)}`,
    ],
    ['a costly filter', '<filter><feTurbulence/></filter>'],
    ['a pattern', '<pattern/>'],
    ['a marker', '<marker/>'],
    ['a picture', '<image href="data:image/png;base64,AAAA"/>'],
    ['dashes', '<path stroke-dasharray="0.0001"/>'],
    ['dashes in CSS', '<style>path{stroke-dasharray : .001}</style>'],
    ['what is no tree', '</g></g>'],
    ['very many elements', path.repeat(20_001)],
  ])('%s cost too much', (_name, inside) => {
    expect(svgCost(svgOf(inside))).toBeGreaterThan(svgCostMax);
  });

  test('depth is bounded, so the stack is', () => {
    expect(svgCost(svgOf('<g>'.repeat(200) + '</g>'.repeat(200)))).toBe(201);
    expect(svgCost(svgOf('<g>'.repeat(40_000) + '</g>'.repeat(40_000)))).toBe(Infinity);
  });

  test.each(['<!--', '<a "', "<a '", '<style>', '<![CDATA[', 'url(', '<?', '<a href="', ' '])(
    'a file full of %j is read in linear time',
    (piece) => {
      const text = svgOf(piece.repeat(260_000 / piece.length));
      const started = process.cpuUsage();
      svgCost(text);
      // Quadratic would be minutes.
      expect(process.cpuUsage(started).user).toBeLessThan(3_000_000);
    },
  );
});
