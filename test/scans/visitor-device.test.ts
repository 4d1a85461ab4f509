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
import { textBytesMax } from '../../src/scans/record.ts';
import { Agents, agentsMax } from '../../src/scans/visitor/agents.ts';
import { botReasonOf } from '../../src/scans/visitor/bot.ts';
import { classifyUserAgent } from '../../src/scans/visitor/device.ts';
import { leastMilliseconds } from '../support/least-milliseconds.ts';

type Row = readonly [what: string, userAgent: string, expected: string];
const rows: readonly Row[] = JSON.parse(
  readFileSync(new URL('../fixtures/user-agents.json', import.meta.url), 'utf8'),
);

const platformNames = Object.keys(Platform);

/** A bot's device does not matter: its reason is all that is counted. */
function describeClass(userAgent: string): string {
  const bot = botReasonOf(userAgent);
  if (bot !== BotReason.none) return botReasonNames[bot]!;
  const { device, platform, os, browser } = classifyUserAgent(userAgent);
  return `${deviceNames[device]} ${platformNames[platform]} ${osNames[os]} ${browserNames[browser]}`;
}

describe('classifyUserAgent', () => {
  it.each(rows)('reads %s', (_what, userAgent, expected) => {
    expect(describeClass(userAgent)).toBe(expected);
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
      const userAgent = part.repeat(4_096).slice(0, textBytesMax - tail.length) + tail;
      classifyUserAgent(userAgent);
      const spentMs = leastMilliseconds(() => {
        botReasonOf(userAgent);
        classifyUserAgent(userAgent);
      });
      // 0.1 ms is usual; an exponential pattern would take seconds.
      expect(spentMs).toBeLessThan(50);
    }
  });
});

describe('Agents', () => {
  it('are read once, by their first 512 characters', () => {
    const agents = new Agents();
    const start = 'a'.repeat(textBytesMax);
    const agent = agents.get(`${start}b`);
    expect(agents.get(`${start} iPhone`)).toBe(agent);
    expect(agents.get('b')).not.toBe(agent);
    expect(agent.visitorClass).toBe(agent.visitorClass);
    expect(agent.visitorClass).toEqual(classifyUserAgent(start));
  });

  it('keep a bounded number', () => {
    const agents = new Agents();
    for (let no = 0; no < agentsMax; no++) agents.get(`agent ${no}`);
    expect(agents.size).toBe(agentsMax);
    agents.get('one more');
    expect(agents.size).toBe(1);
  });
});
