/**
 * The ledger: what was asked of the service and what it answered, kept outside of it.
 *
 *   scan     sent -> answered (302 fully received) | refused (410) | nothing (in flight at a kill)
 *   write    sent -> acknowledged (2xx) | pending (in flight at a kill; resolved after the restart)
 *
 * Every scan has a number that travels in its Referer and comes back in its qr.scanned event, so a
 * scan that is lost or counted twice is known by name, not only by a difference of sums.
 * Targets of a code are numbered too: an answer tells which change the redirect thread had seen. Every third code has a
 * rule and a split: an answer also tells which of them led, and a visitor keeps the variant it had.
 */
/** `counted apart` is a bot's answered scan: it has no event. */
export type ScanFate = 'none' | 'sent' | 'answered' | 'counted apart' | 'refused';
const fates: readonly ScanFate[] = ['none', 'sent', 'answered', 'counted apart', 'refused'];

/** People on three platforms, and a bot: each scan has one of these user agents. */
export const agents = [
  {
    platform: 'ios',
    text: 'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1',
  },
  {
    platform: 'android',
    text: 'Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/125.0.0.0 Mobile Safari/537.36',
  },
  {
    platform: 'other',
    text: 'Mozilla/5.0 (X11; Linux x86_64; rv:126.0) Gecko/20100101 Firefox/126.0',
  },
] as const;
export const botAgent = 'Googlebot/2.1 (+http://www.google.com/bot.html)';
export type Kind = (typeof agents)[number]['platform'] | 'bot';

export interface Tally {
  sent: number;
  answered: number;
}

export interface CodeEntry {
  /** Its place in the ledger; part of its name, its short code and its targets. */
  readonly number: number;
  readonly path: string;
  /** Set once the service has acknowledged the code. */
  id: string | undefined;
  /** Newest target that was sent, and newest that was acknowledged. */
  targetSent: number;
  targetAcknowledged: number;
  /** Targets in the order in which they came into force, the first excepted. */
  readonly changes: number[];
  state: 'creating' | 'live' | 'deleting' | 'deleted';
  readonly scans: Record<Kind, Tally>;
  readonly visitorsSent: Set<number>;
  readonly visitorsAnswered: Set<number>;
  /** Of a routed code: the variant that a visitor of a kind has had. */
  readonly variants: Map<string, string>;
}

export interface Scan {
  readonly number: number;
  readonly code: CodeEntry;
  readonly kind: Kind;
  readonly visitor: number;
  /** What was acknowledged when it was sent: the answer may not be older. */
  readonly targetAtLeast: number;
  readonly wasDeleted: boolean;
}

const unexpectedMax = 50;

export class Ledger {
  readonly codes: CodeEntry[] = [];
  #fates = new Uint8Array(1 << 16);
  #codes = new Uint32Array(1 << 16);
  #scans = 0;
  /** Scans that got their redirect, bots' too. */
  answered = 0;
  /** Scans of deleted codes, answered 410. */
  refused = 0;
  /** Writes that got a 2xx. */
  acknowledged = 0;
  readonly unexpected: string[] = [];
  unexpectedCount = 0;

  get scans(): number {
    return this.#scans;
  }

  addCode(): CodeEntry {
    const number = this.codes.length;
    const tally = (): Tally => ({ sent: 0, answered: 0 });
    const entry: CodeEntry = {
      number,
      path: `/crash-${number}`,
      id: undefined,
      targetSent: 0,
      targetAcknowledged: 0,
      changes: [],
      state: 'creating',
      scans: { ios: tally(), android: tally(), other: tally(), bot: tally() },
      visitorsSent: new Set(),
      visitorsAnswered: new Set(),
      variants: new Map(),
    };
    this.codes.push(entry);
    return entry;
  }

  send(code: CodeEntry, kind: Kind, visitor: number): Scan {
    const number = this.#scans++;
    if (number >= this.#fates.length) this.#grow();
    this.#fates[number] = fates.indexOf('sent');
    this.#codes[number] = code.number;
    code.scans[kind].sent++;
    if (kind !== 'bot') code.visitorsSent.add(visitor);
    const wasDeleted = code.state === 'deleted';
    return { number, code, kind, visitor, targetAtLeast: code.targetAcknowledged, wasDeleted };
  }

  /** Takes a complete answer, whatever it says. */
  take({ number, code, kind, visitor }: Scan, status: number): void {
    if (status !== 302) {
      this.refused++;
      this.#fates[number] = fates.indexOf('refused');
      return;
    }
    this.#fates[number] = fates.indexOf(kind === 'bot' ? 'counted apart' : 'answered');
    this.answered++;
    code.scans[kind].answered++;
    if (kind !== 'bot') code.visitorsAnswered.add(visitor);
  }

  /** Takes a complete answer, and checks that it may be given. */
  receive(scan: Scan, status: number, location: string): void {
    const { code } = scan;
    this.take(scan, status);
    if (status === 302) {
      const target = targetNumber(code, location);
      const isCurrent =
        target !== undefined && target >= scan.targetAtLeast && target <= code.targetSent;
      if (!isCurrent) this.note(`${code.path} led to ${location}, expected ${scan.targetAtLeast}+`);
      this.#checkRoute(scan, routeOf(location));
      if (scan.wasDeleted) this.note(`${code.path} redirects after its deletion was acknowledged`);
      return;
    }
    const isDeleted = status === 410 && (code.state === 'deleting' || code.state === 'deleted');
    if (!isDeleted) this.note(`${code.path} (${code.state}) answered ${status}`);
  }

  #checkRoute({ code, kind, visitor }: Scan, route: string): void {
    const expected = expectedRoutes(code, kind);
    if (!expected.includes(route)) {
      this.note(`${code.path} led ${kind} to ${route}, expected ${expected.join(' or ')}`);
    }
    const before = code.variants.get(`${kind} ${visitor}`) ?? route;
    if (before !== route) this.note(`${code.path} led a visitor to ${route}, before to ${before}`);
    code.variants.set(`${kind} ${visitor}`, route);
  }

  fate(scan: number): ScanFate {
    return fates[this.#fates[scan] ?? 0] ?? 'none';
  }

  codeOf(scan: number): number {
    return this.#codes[scan] ?? -1;
  }

  /** Something that must not be: counted, the first ones kept in words. */
  note(what: string): void {
    this.unexpectedCount++;
    if (this.unexpected.length < unexpectedMax) this.unexpected.push(what);
  }

  #grow(): void {
    const larger = new Uint8Array(this.#fates.length * 2);
    larger.set(this.#fates);
    this.#fates = larger;
    const codes = new Uint32Array(this.#codes.length * 2);
    codes.set(this.#codes);
    this.#codes = codes;
  }
}

export const targetOf = (code: CodeEntry, target: number): string =>
  `https://target.example/${code.number}/${target}`;

export const isRouted = (code: CodeEntry): boolean => code.number % 3 === 0;

/** Where a scan of this kind may be led. */
function expectedRoutes(code: CodeEntry, kind: Kind): readonly string[] {
  if (!isRouted(code) || kind === 'bot') return ['target'];
  return kind === 'ios' ? ['ios'] : ['one', 'two'];
}

/** The body of a write that leads the code there. */
export function leadingTo(code: CodeEntry, number: number): object {
  const target = targetOf(code, number);
  if (!isRouted(code)) return { target };
  const to = (label: string) => ({ label, target: `${target}?to=${label}` });
  return {
    target,
    rules: [{ label: 'ios', if: { os: ['iOS'] }, then: { target: to('ios').target } }],
    split: [
      { ...to('one'), weight: 3 },
      { ...to('two'), weight: 1 },
    ],
  };
}

/** What has led to an address. */
const routeOf = (location: string): string => /\?to=(\w+)$/.exec(location)?.[1] ?? 'target';

/** The number of a target of this code; undefined when the address is not one of its targets. */
export function targetNumber(code: CodeEntry, location: string): number | undefined {
  const match = /^https:\/\/target\.example\/(\d+)\/(\d+)(?:\?to=\w+)?$/.exec(location);
  return match !== null && Number(match[1]) === code.number ? Number(match[2]) : undefined;
}

export const refererOf = (scan: number): string => `https://scan.example/${scan}`;
export const scanOfReferer = (referer: string): number =>
  Number(/^https:\/\/scan\.example\/(\d+)$/.exec(referer)?.[1] ?? -1);
