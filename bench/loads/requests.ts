/**
 * What phones send when they scan: the same bytes for every contestant.
 *
 * 200 user agents, the headers a phone's browser adds, a referer on every fourth request (links that are
 * tapped, not scanned), and the `X-Forwarded-For` of a proxy in front, another client address each time:
 * who trusts no proxy ignores it, and parses it all the same.
 */
import { createRandom } from '../random.ts';

export interface LoadRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Different requests a generator sends one after the other: enough that neither agents nor addresses repeat soon. */
export const requestCount = 8_192;

const iosVersions = [
  '16_7',
  '17_4',
  '17_5',
  '17_6',
  '18_0',
  '18_1',
  '18_3',
  '18_5',
  '18_6',
  '26_0',
];
const safariBuilds = [
  '16.6',
  '17.4',
  '17.5',
  '17.6',
  '18.0',
  '18.1',
  '18.3',
  '18.5',
  '18.6',
  '26.0',
];
const androidModels = [
  'SM-S911B',
  'SM-S921B',
  'SM-A546B',
  'SM-A155F',
  'Pixel 6a',
  'Pixel 7',
  'Pixel 8 Pro',
  'M2101K6G',
  '2201117TY',
  'CPH2465',
];
const chromeMajors = [118, 120, 122, 124, 126, 128, 131, 134, 137, 140];

function iphone(index: number): string {
  const system = iosVersions[index % 10];
  const browser = safariBuilds[Math.floor(index / 10)];
  return `Mozilla/5.0 (iPhone; CPU iPhone OS ${system} like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/${browser} Mobile/15E148 Safari/604.1`;
}

function android(index: number): string {
  const model = androidModels[index % 10];
  const major = chromeMajors[Math.floor(index / 10)];
  return `Mozilla/5.0 (Linux; Android ${12 + (index % 4)}; ${model}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/${major}.0.0.0 Mobile Safari/537.36`;
}

const phoneAgents: readonly string[] = Array.from({ length: 200 }, (_, index) =>
  index % 2 === 0 ? iphone(index >>> 1) : android(index >>> 1),
);

const languages = ['en-US,en;q=0.9', 'de-DE,de;q=0.9,en;q=0.8', 'fr-FR,fr;q=0.9', 'ja-JP,ja;q=0.9'];
const referers = ['https://www.instagram.com/', 'https://www.google.com/', 'https://t.co/'];

/** @param paths what is asked for, drawn evenly */
export function createRequests(
  host: string,
  paths: readonly string[],
  count: number,
): LoadRequest[] {
  const random = createRandom(0x2545f491);
  return Array.from({ length: count }, (_, index) => {
    const referer = index % 4 === 0 ? { referer: referers[random() % referers.length]! } : {};
    const address = `${1 + (random() % 223)}.${random() & 255}.${random() & 255}.${random() & 255}`;
    return {
      path: paths[random() % paths.length]!,
      headers: {
        host,
        'user-agent': phoneAgents[random() % phoneAgents.length]!,
        accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
        'accept-language': languages[random() % languages.length]!,
        'accept-encoding': 'gzip, deflate, br',
        ...referer,
        'x-forwarded-for': address,
      },
    };
  });
}

/** The request as it goes over the wire. */
export function requestBytes(method: 'GET' | 'HEAD', request: LoadRequest): string {
  const lines = Object.entries(request.headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${request.path} HTTP/1.1\r\n${lines.join('')}\r\n`;
}
