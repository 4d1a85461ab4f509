/** Codes with programs by durability, by what becomes of connections, and while they change. */
import { Agent, request as httpRequest } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { missedRoutes } from '../../src/model/routing/labels.ts';
import type { Routing } from '../../src/model/routing/routing.ts';
import { plainTarget, routedLink, targetOf } from '../links/routed.ts';
import { linkOf } from '../links/table.ts';
import { sendOneByOne, sendRaw } from '../support/raw-http.ts';
import { soon } from '../support/soon.ts';
import { type JournaledScan, type RedirectHarness, startRedirects } from './redirect-harness.ts';
import { agents } from './routes-harness.ts';

let harness: RedirectHarness;

/** @param codeNo each test has one of its own, at the same short link */
const put = (fields: Partial<Routing>, codeNo: number): void =>
  harness.links.put(routedLink('ROUTED23', fields, { codeNo }));

const scansOf = (...codeNos: number[]): JournaledScan[] =>
  harness.scans().filter(({ codeNo }) => codeNos.includes(codeNo));
/** Of a code, in no order: threads have journals of their own. */
const routesOf = (codeNo: number): number[] =>
  scansOf(codeNo)
    .map(({ route }) => route)
    .toSorted((a, b) => a - b);

const byQuery: Partial<Routing> = {
  passQuery: true,
  rules: ['a', 'b'].map((label) => ({
    label,
    if: { query: { to: label } },
    then: { target: `${targetOf(label)}?to=${label}` },
  })),
};

/** Where a visit leads, or the status of what is answered instead. */
async function visit(agent: Agent, query = ''): Promise<string | number> {
  return await new Promise((resolve, reject) => {
    const path = `/ROUTED23${query}`;
    const headers = { 'user-agent': agents.iphone };
    const { port } = harness;
    const sent = httpRequest({ host: '127.0.0.1', port, path, agent, headers }, (answer) => {
      answer.resume();
      const { location } = answer.headers;
      answer.once('end', () => resolve(location ?? answer.statusCode ?? 0));
    });
    sent.once('error', reject);
    sent.end();
  });
}

/** One service of two threads for the tests of a durability, and the tests that both have. */
function serve(durability: 'process' | 'power'): void {
  beforeAll(async () => {
    harness = await startRedirects({ durability, threads: 2 });
  });
  afterAll(async () => {
    expect(harness.deaths()).toEqual([]);
    await harness.close();
  });

  it('each is answered as itself in a batch of rules, queries, plain codes and pages', async () => {
    const { links, port } = harness;
    put(byQuery, 11);
    links.put(routedLink('PAUSED23', { paused: true }, { codeNo: 12 }));
    links.put(linkOf('PLAIN234', { codeNo: 13 }));
    const agent = new Agent({ keepAlive: true, maxSockets: 20 });
    const visits = Array.from({ length: 120 }, async (_, no) => {
      const label = ['a', 'b', 'c'][no % 3]!;
      const wanted = label === 'c' ? `${plainTarget}?to=c&no=${no}` : undefined;
      expect(await visit(agent, `?to=${label}&no=${no}`)).toBe(
        wanted ?? `${targetOf(label)}?to=${label}&no=${no}`,
      );
    });
    const others = Array.from({ length: 10 }, async () => {
      const ask = (path: string) => sendRaw(port, [`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`]);
      expect((await ask('/PAUSED23')).statuses).toEqual([410]);
      expect((await ask('/PLAIN234')).text).toContain('Location: https://example.com/\r\n');
    });
    await Promise.all([...visits, ...others]);
    agent.destroy();
    const counted = (): Record<string, number> => {
      const counts: Record<string, number> = {};
      for (const { codeNo, route } of scansOf(11, 12, 13)) {
        const key = `${codeNo} ${route}`;
        counts[key] = (counts[key] ?? 0) + 1;
      }
      return counts;
    };
    const wanted = { '11 0': 40, '11 1': 40, '11 2': 40, '13 0': 10 };
    await expect.poll(counted, soon).toEqual({ ...wanted, [`12 ${missedRoutes.paused}`]: 10 });
  });

  it('connections are closed with one header that says so, or go on', async () => {
    const states: Array<[Partial<Routing>, number]> = [
      [byQuery, 302],
      [{ paused: true, fallbackUrl: targetOf('fallback') }, 302],
      [{ paused: true }, 410],
    ];
    for (const [fields, status] of states) {
      put(fields, 14);
      const ask = (more: string, method = 'GET'): string =>
        `${method} /ROUTED23?to=a HTTP/1.1\r\nHost: x\r\n${more}\r\n`;
      for (const method of ['GET', 'HEAD']) {
        const kept = await sendOneByOne(harness.port, [ask('', method), ask('', method)]);
        expect([kept.statuses, kept.closed]).toEqual([[status, status], false]);
        expect(kept.text).not.toMatch(/^Connection/im);
        for (const more of ['Connection: close\r\n', 'Content-Length: 0\r\n']) {
          const { text, statuses, closed } = await sendRaw(harness.port, [ask(more, method)]);
          expect([more, statuses, closed]).toEqual([more, [status], true]);
          expect(text.match(/^Connection: close\r$/gim)).toHaveLength(1);
          expect(text.match(/^Location: /gm)?.length ?? 0).toBe(status === 302 ? 1 : 0);
        }
      }
    }
  });
}

describe('power', () => {
  serve('power');

  it('connections that are reset while they wait for the disk harm no other answer', async () => {
    const { port } = harness;
    put(byQuery, 15);
    const agent = new Agent({ keepAlive: true, maxSockets: 10 });
    const answers: Array<Promise<string | number>> = [];
    for (let no = 0; no < 40; no++) {
      answers.push(visit(agent, '?to=b'));
      void sendRaw(port, ['GET /ROUTED23?to=a HTTP/1.1\r\nHost: x\r\n\r\n'], 1);
    }
    expect(new Set(await Promise.all(answers))).toEqual(new Set([`${targetOf('b')}?to=b`]));
    agent.destroy();
    await expect.poll(() => routesOf(15).filter((route) => route === 2).length, soon).toBe(40);
  });
});

describe('process', () => {
  serve('process');

  describe('changes', () => {
    /** Of rules, then a pause with a fallback, then a split: an answer tells which change it is of. */
    const changeOf = (no: number): Partial<Routing> => {
      const target = `https://example.com/${no}/${'x'.repeat((no * 37) % 300)}`;
      if (no % 3 === 1) return { paused: true, fallbackUrl: target };
      const only = { label: 'only', target, weight: 1 };
      if (no % 3 === 2) return { split: [only, { ...only, label: 'never', weight: 0 }] };
      return { rules: [{ label: 'only', if: { os: ['iOS'] }, then: { target } }] };
    };

    it('of rules, states and splits are seen by every request that begins after them, and whole', async () => {
      const [changes, clients] = [60, 16];
      put(changeOf(0), 18);
      const seen = { published: 0 };
      const stale: string[] = [];
      const answered = Array<number>(clients).fill(0);
      const client = async (_: number, no: number): Promise<void> => {
        const agent = new Agent({ keepAlive: true, maxSockets: 1 });
        while (seen.published < changes) {
          const least = seen.published;
          const answer = String(await visit(agent));
          const change = Number(answer.split('/')[3]);
          const isWhole = answer.endsWith(`/${'x'.repeat((change * 37) % 300)}`);
          if (!(change >= least) || !isWhole) stale.push(`${answer} after change ${least}`);
          answered[no]! += 1;
        }
        agent.destroy();
      };
      const all = answered.map(client);
      const sum = (): number => answered.reduce((total, count) => total + count, 0);
      for (let no = 1; no <= changes; no++) {
        // However busy the machine is, each change is met by some answers.
        while (sum() < 10 * no) await pause(1);
        put(changeOf(no), 18);
        seen.published = no;
      }
      await Promise.all(all);
      expect(stale).toEqual([]);
      const routes = routesOf(18);
      expect(routes).toHaveLength(sum());
      expect(new Set(routes)).toEqual(new Set([1, missedRoutes.paused]));
    });
  });
});
