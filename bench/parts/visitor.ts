/**
 * What it costs a shard to know who scanned: class, place and hash, each warm and cold, and together.
 */
import { readFileSync } from 'node:fs';
import { createHmac, randomFillSync } from 'node:crypto';
import { Bench } from 'tinybench';
import { Agents } from '../../src/engine/visitor/agents.ts';
import { botReasonOf } from '../../src/engine/visitor/bot.ts';
import { classifyUserAgent } from '../../src/engine/visitor/device.ts';
import { createRandom } from '../random.ts';
import { Geo, type GeoData } from '../../src/engine/visitor/geo/geo.ts';
import { openGeo } from '../../src/engine/visitor/geo/geo-data.ts';
import { type ScanVisitor, Visitor } from '../../src/engine/visitor/visitor.ts';
import { VisitorIds } from '../../src/engine/visitor/visitor-id.ts';
import { bundledFiles, openBundledGeo } from '../../test/engine/visitor/geo-data.ts';
import { parseAddress } from '../../test/support/address.ts';

export const question = 'What does it cost a shard to know who scanned: class, place and hash?';

interface Row {
  readonly name: string;
  readonly nanosecondsPerOperation: number;
  readonly note?: string;
}

const batch = 1_024;
/** About as large as the bundled table. */
const tableBytes = 37e6;
const key = Buffer.alloc(16, 42);

type Fixture = readonly [what: string, userAgent: string, expected: string];
const fixtures: readonly Fixture[] = JSON.parse(
  readFileSync(new URL('../../test/fixtures/user-agents.json', import.meta.url), 'utf8'),
);

/** People's agents as a record's bytes. */
function agentBytes(): Buffer[] {
  const people = fixtures.filter(([, text, expected]) => text !== '' && expected.includes(' '));
  return Array.from({ length: batch }, (_, index) =>
    Buffer.from(people[index % people.length]![1], 'latin1'),
  );
}

/** Address bytes of clients all over the routed IPv4 space, one after the other. */
function addresses(count: number): Buffer {
  const bytes = Buffer.alloc(count * 16);
  for (let index = 0; index < count; index++) {
    parseAddress('0.0.0.0').copy(bytes, index * 16);
    const mixed = Math.imul(index + 1, 0x9e3779b1) >>> 0;
    bytes.writeUInt32BE(mixed, index * 16 + 12);
    bytes[index * 16 + 12] = 11 + (mixed % 80);
  }
  return bytes;
}

function check(geo: Geo): void {
  const { country, city } = geo.lookup(parseAddress('8.8.8.8'), 0);
  if (country !== 'US' || city !== 'Mountain View') throw new Error(`8.8.8.8 is in ${city}`);
  const { os, platform } = classifyUserAgent(fixtures[0]![1]);
  if (os !== 1 || platform !== 1) throw new Error('an iPhone is not iOS');
}

/** The registries give IPv6 addresses from here. */
const ipv6Blocks = [0x2001, 0x2400, 0x2600, 0x2800, 0x2a00, 0x2c00];

/** All over the space of a family, another set in every run. */
function randomAddresses(count: number, family: 4 | 6): Buffer {
  const bytes = randomFillSync(Buffer.alloc(count * 16));
  for (let at = 0; at < bytes.length; at += 16) {
    if (family === 4) bytes.fill(0, at, at + 10).fill(0xff, at + 10, at + 12);
    else bytes.writeUInt16BE(ipv6Blocks[bytes[at]! % 6]! + (bytes[at + 1]! % 16), at);
  }
  return bytes;
}

/** A cache line of 64 bytes. */
const lineWords = 16;

/** Of each cache line in as much memory as the table takes, where to read next: all in one circle, in no order. */
function circleOfLines(bytes: number): Uint32Array {
  const random = createRandom(7);
  const lines = Uint32Array.from({ length: Math.floor(bytes / 4 / lineWords) }, (_, line) => line);
  for (let line = lines.length - 1; line > 0; line--) {
    const other = random() % line;
    [lines[line], lines[other]] = [lines[other]!, lines[line]!];
  }
  const circle = new Uint32Array(lines.length * lineWords);
  for (const [line, next] of lines.entries()) circle[line * lineWords] = next * lineWords;
  return circle;
}

function addAgents(bench: Bench): void {
  const records = agentBytes();
  const agents = records.map((bytes) => bytes.toString('latin1'));
  const known = new Agents();
  bench.add('agent decoded from a record, alone', () => {
    let characters = 0;
    for (const bytes of records) characters += bytes.toString('latin1').length;
    if (characters === 0) throw new Error('unreachable, keeps the strings alive');
  });
  bench.add('bot reason of an agent seen recently, with decoding', () => {
    for (const bytes of records) known.get(bytes.toString('latin1'));
  });
  bench.add('class of a new agent', () => {
    for (const text of agents) classifyUserAgent(text);
  });
  bench.add('bot reason of a new agent', () => {
    for (const text of agents) botReasonOf(text);
  });
}

function addPlaces(bench: Bench, geo: Geo, count: number): void {
  const few = addresses(batch);
  bench.add('place of an address seen recently', () => {
    for (let at = 0; at < few.length; at += 16) geo.lookup(few, at);
  });
  for (const family of [4, 6] as const) {
    const many = randomAddresses(count, family);
    let from = 0;
    bench.add(`place of an address among ${count} at random, IPv${family}`, () => {
      for (let index = 0; index < batch; index++) geo.lookup(many, (from + index) * 16);
      from = (from + batch) % count;
    });
  }
}

/** What no look-up of a cold network is faster than. */
function addFloor(bench: Bench, bytes: number): void {
  const circle = circleOfLines(bytes);
  let at = 0;
  bench.add(`one read at random in ${Math.round(bytes / 1e6)} MB`, () => {
    for (let index = 0; index < batch; index++) at = circle[at]!;
  });
}

function addHashes(bench: Bench): void {
  const ids = new VisitorIds(key);
  const few = addresses(batch);
  const agent = fixtures[0]![1];
  bench.add('visitor hash', () => {
    for (let index = 0; index < batch; index++) ids.hashVisitor(few, index * 16, index, 7);
  });
  bench.add('agent hash, once per new agent', () => {
    const bytes = Buffer.from(agent);
    for (let index = 0; index < batch; index++) ids.agentHash.hash(bytes, 0, bytes.length);
  });
  bench.add('the same by HMAC-SHA-256 of node:crypto', () => {
    for (let index = 0; index < batch; index++) {
      createHmac('sha256', key)
        .update(few.subarray(index * 16, index * 16 + 16))
        .digest();
    }
  });
}

function addWhole(bench: Bench, data: GeoData): void {
  const visitor = new Visitor({ key, geo: data });
  const records = agentBytes();
  const into: ScanVisitor = {
    visitorHigh: 0,
    visitorLow: 0,
    country: 0,
    city: '',
    device: 0,
    platform: 0,
    os: 0,
    browser: 0,
    bot: 0,
  };
  const few = addresses(batch);
  const each = Array.from({ length: batch }, (_, index) =>
    few.subarray(index * 16, index * 16 + 16),
  );
  bench.add('all together, seen recently', () => {
    for (let index = 0; index < batch; index++) {
      visitor.read(each[index]!, records[index]!.toString('latin1'), into);
    }
  });
}

export async function run(options: { readonly quick: boolean }): Promise<Row[]> {
  // Makes it where it is not there, and checks all of it.
  openBundledGeo().close();
  const bytesBefore = process.memoryUsage().rss;
  const started = performance.now();
  const { data } = openGeo(bundledFiles);
  const geo = new Geo(data);
  const loadMs = performance.now() - started;
  check(geo);
  const megabytes = (process.memoryUsage().rss - bytesBefore) / 1e6;

  const bench = new Bench({
    time: options.quick ? 1 : 1_000,
    warmupTime: options.quick ? 0 : 300,
    ...(options.quick ? { iterations: 2, warmupIterations: 0 } : {}),
  });
  addAgents(bench);
  addPlaces(bench, geo, options.quick ? 16_384 : 1_048_576);
  addFloor(bench, tableBytes);
  addHashes(bench);
  addWhole(bench, data);
  await bench.run();
  const rows: Row[] = bench.tasks.map((task) => {
    if (task.result.state !== 'completed') throw new Error(`Cannot measure ${task.name}`);
    return {
      name: task.name,
      nanosecondsPerOperation: (task.result.latency.p50 * 1e6) / batch,
    };
  });
  rows.push({
    name: 'open the bundled table',
    nanosecondsPerOperation: loadMs * 1e6,
    note: `${megabytes.toFixed(0)} MB, more as places are asked for`,
  });
  return rows;
}
