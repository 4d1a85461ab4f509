import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  botReasonNames,
  BotReason,
  browserNames,
  deviceNames,
  osNames,
  Platform,
} from '../../src/model/scan.ts';
import { Agents, agentsMax } from '../../src/scans/visitor/agents.ts';
import { classifyRoughly, classifyUserAgent } from '../../src/scans/visitor/device.ts';
import { userAgentCharactersMax } from '../../src/scans/visitor/user-agent.ts';
import { VisitorClasses } from '../../src/scans/visitor/visitor.ts';
import { recordText } from './visitor/record-text.ts';
import { leastMilliseconds } from '../support/least-milliseconds.ts';

type Row = readonly [what: string, userAgent: string, expected: string];
const rows: readonly Row[] = JSON.parse(
  readFileSync(new URL('../fixtures/user-agents.json', import.meta.url), 'utf8'),
);

const platformNames = Object.keys(Platform);

/** A bot's device does not matter: its reason is all that is counted. */
function describeClass(userAgent: string): string {
  const { device, platform, os, browser, bot } = classifyUserAgent(userAgent);
  if (bot !== BotReason.none) return botReasonNames[bot]!;
  return `${deviceNames[device]} ${platformNames[platform]} ${osNames[os]} ${browserNames[browser]}`;
}

describe('classifyUserAgent', () => {
  it('has a table worth its name', () => expect(rows.length).toBeGreaterThanOrEqual(60));

  it.each(rows)('reads %s', (_what, userAgent, expected) => {
    expect(describeClass(userAgent)).toBe(expected);
  });

  it.each(rows)('reads the same platform and bot reason roughly: %s', (_what, userAgent) => {
    const full = classifyUserAgent(userAgent);
    const rough = classifyRoughly(userAgent);
    expect(rough.bot).toBe(full.bot);
    if (full.bot === BotReason.none) expect(rough.platform).toBe(full.platform);
  });
});

const hostile = [
  'a',
  ' ',
  '(',
  '/',
  '0.',
  '1',
  '1_',
  'Version/',
  'Version/1.1_',
  'Mozilla/5.0 (',
  'Mozilla/5.0 (Macintosh; Mobile',
  'Android ',
  'nexus ',
  'yahoo ',
  'bot',
  'http',
  'Opera ',
  'Chrome/1',
  'windows nt',
  'Nokia ',
  'x;',
  '\u0000',
  '\ud800',
  '\\',
];

describe('hostile user agents', () => {
  it.each(hostile)('take bounded time: %j repeated', (part) => {
    for (const tail of ['', '!', ' Mobile Safari', '11111111111111111111111111111']) {
      const userAgent = part.repeat(4_096).slice(0, userAgentCharactersMax - tail.length) + tail;
      classifyUserAgent(userAgent);
      const spentMs = leastMilliseconds(() => {
        classifyUserAgent(userAgent);
        classifyRoughly(userAgent);
      });
      // 0.1 ms is usual; an exponential pattern would take seconds.
      expect(spentMs).toBeLessThan(50);
    }
  });

  it('are cut before they are read', () => {
    const long = `${'x'.repeat(userAgentCharactersMax)} iPhone`;
    expect(classifyUserAgent(long)).toEqual(classifyUserAgent('x'.repeat(userAgentCharactersMax)));
  });
});

describe('VisitorClasses', () => {
  const chrome = rows.find(([what]) => what === 'Pixel Chrome')![1];
  const hash = (text: string) => [text.length, 7] as const;

  it('gives the same agent again, and hashes it once', () => {
    let hashed = 0;
    const classes = new VisitorClasses((text) => {
      hashed++;
      return hash(text);
    });
    const agent = classes.get(recordText(chrome));
    expect(classes.get(recordText(chrome.slice(0, 9) + chrome.slice(9)))).toBe(agent);
    expect(agent.visitorClass).toEqual(classifyUserAgent(chrome));
    expect([agent.hashHi, agent.hashLo]).toEqual([chrome.length, 7]);
    expect(hashed).toBe(1);
  });

  it('never keeps more than its bound, and keeps what is used', () => {
    const classes = new VisitorClasses(hash, 64);
    const kept = classes.get(recordText(chrome));
    for (let index = 0; index < 1_000; index++) {
      classes.get(recordText(`${chrome} ${index}`));
      expect(classes.get(recordText(chrome))).toBe(kept);
      expect(classes.size).toBeLessThanOrEqual(64);
    }
  });

  it('reads a flood of new agents roughly beyond its budget, and recovers', () => {
    const classes = new VisitorClasses(hash);
    for (let index = 0; index < 4_000; index++) classes.get(recordText(`${chrome} ${index}`));
    expect(classes.size).toBe(1_024);
    const rough = classes.get(recordText(`${chrome} 3999`));
    expect(rough.visitorClass.platform).toBe(classifyUserAgent(chrome).platform);
    for (let index = 0; index < 96; index++) classes.get(recordText(chrome));
    expect(classes.get(recordText(`${chrome} 3999`)).visitorClass).toEqual(
      classifyUserAgent(chrome),
    );
  });

  it('keeps long agents by their first 512 characters', () => {
    const classes = new VisitorClasses(hash);
    const start = chrome.padEnd(userAgentCharactersMax, '.');
    expect(classes.get(recordText(`${start}one`))).toBe(classes.get(recordText(`${start}two`)));
    expect(classes.size).toBe(1);
  });
});

describe('Agents', () => {
  it('agree with the full reading, first and from memory', () => {
    const agents = new Agents();
    for (const round of [1, 2]) {
      for (const [what, userAgent] of rows) {
        const { bot, visitorClass, isPerson } = agents.get(userAgent);
        const full = classifyUserAgent(userAgent);
        expect([round, what, bot, visitorClass]).toEqual([round, what, full.bot, full]);
        expect(isPerson).toBe(full.bot === 0);
      }
    }
  });

  it('have the same hash in every thread, of the first 512 characters', () => {
    const start = 'a'.repeat(512);
    const [one, other] = [new Agents().get(`${start}b`), new Agents().get(`${start}c`)];
    expect(one.hashes).toEqual(other.hashes);
    expect(new Agents().get('b').hashes).not.toEqual(one.hashes);
  });

  it('keep a bounded number', () => {
    const agents = new Agents();
    for (let no = 0; no < agentsMax; no++) agents.get(`agent ${no}`);
    expect(agents.size).toBe(agentsMax);
    agents.get('one more');
    expect(agents.size).toBe(1);
  });

  it('read a flood of invented agents roughly', () => {
    const agents = new Agents();
    const invented = (no: number): string => `Mozilla/5.0 (Windows NT 10.0) Firefox/${no}.0`;
    const classes = Array.from({ length: 1_030 }, (_, no) => agents.get(invented(no)).visitorClass);
    expect(classes.at(-1)).toEqual({ ...classes[0], browser: 0 });
  });
});
