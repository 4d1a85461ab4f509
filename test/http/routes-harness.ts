/** Redirect threads and codes with programs, for tests that ask for these as a client does. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Link } from '../../src/links/layout.ts';
import type { RouteConditions, RouteRule, Routing } from '../../src/model/routing/routing.ts';
import type { GeoData } from '../../src/scans/visitor/geo/geo.ts';
import { routedLink, targetOf } from '../links/routed.ts';
import { ownGeo, writeMmdb } from '../scans/visitor/geo-data.ts';
import { sendRaw } from '../support/raw-http.ts';
import { type RedirectHarness, startRedirects } from './redirect-harness.ts';

export const agents = {
  iphone:
    'Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Mobile/15E148 Safari/604.1',
  pixel:
    'Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/122.0.0.0 Mobile Safari/537.36',
  firefox: 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:124.0) Gecko/20100101 Firefox/124.0',
  imessage:
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_11_1) AppleWebKit/601.2.4 (KHTML, like Gecko) Version/9.0.1 Safari/601.2.4 facebookexternalhit/1.1 Facebot Twitterbot/1.0',
  whatsapp: 'WhatsApp/2.23.20.0 A',
  slack: 'Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)',
  google: 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
} as const;

/** 81.2.64.0/20 is German, 9.0.0.0/8 American. */
export function geoData(): GeoData {
  const folder = mkdtempSync(join(tmpdir(), 'quietzone-routes-'));
  const countryFile = join(folder, 'countries.mmdb');
  const networks = [
    ['81.2.64.0/20', { country_code: 'DE' }],
    ['9.0.0.0/8', { country_code: 'US' }],
  ] as const;
  writeFileSync(countryFile, writeMmdb(4, networks));
  const data = ownGeo({ countryFile });
  rmSync(folder, { recursive: true });
  return data;
}

export const rule = (label: string, conditions: RouteConditions): RouteRule => ({
  label,
  if: conditions,
  then: { target: targetOf(label) },
});

export interface Asked {
  readonly agent?: string;
  /** Whole lines. */
  readonly headers?: string;
  readonly method?: string;
}

export class RoutedRedirects {
  readonly harness: RedirectHarness;
  #codes = 100;

  private constructor(harness: RedirectHarness) {
    this.harness = harness;
  }

  static async start(): Promise<RoutedRedirects> {
    const harness = await startRedirects({ trustedProxies: ['127.0.0.0/8'], geo: geoData() });
    return new RoutedRedirects(harness);
  }

  /** Puts a code of its own into the table. */
  put(fields: Partial<Routing>, more: Partial<Link> = {}) {
    const codeNo = ++this.#codes;
    const key = `ROUTED${codeNo}`;
    this.harness.links.put(routedLink(key, fields, { codeNo, ...more }));
    return { path: `/${key}`, key, codeNo };
  }

  /** What is recorded of a code so far, by the numbers of routes. */
  async routesOf(no: number): Promise<number[]> {
    // A page is answered before its cycle ends, and is recorded then: before the next answer.
    const later = this.put({});
    await this.ask(later.path);
    return this.harness.scans().flatMap(({ codeNo, route }) => (codeNo === no ? [route] : []));
  }

  async ask(path: string, { agent = agents.iphone, headers = '', method = 'GET' }: Asked = {}) {
    const lines = `Host: s.example\r\nUser-Agent: ${agent}\r\nConnection: close\r\n${headers}`;
    const text = `${method} ${path} HTTP/1.1\r\n${lines}\r\n`;
    const answer = await sendRaw(this.harness.port, [Buffer.from(text, 'latin1')]);
    const [head = '', body = ''] = answer.text.split('\r\n\r\n');
    return {
      status: Number(head.slice(9, 12)),
      location: /^Location: (.*)$/m.exec(head)?.[1]?.replace(/\r$/, ''),
      head,
      body,
    };
  }
}
