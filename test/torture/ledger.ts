/**
 * The ledger: what was asked of the service and what it answered, kept outside of it.
 *
 *   scan     sent -> answered (302 fully received) | refused (410, 404) | nothing (in flight at a fault)
 *   write    sent -> acknowledged (2xx), sent again until then
 *
 * Every scan has a number that travels in its Referer and comes back in its qr.scanned event, so a
 * scan that is lost or counted twice is known by name, not only by a difference of sums.
 * Targets of a code are numbered too: an answer tells which change the redirect thread had seen. Every third code has a
 * rule and a split: an answer also tells which of them led. Codes with a scan limit are scanned beyond it, one after the
 * other.
 */
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

interface Tally {
  sent: number;
  answered: number;
  refused: number;
}

export interface CodeEntry {
  /** Its place in the ledger; part of its name, its short code and its targets. */
  readonly number: number;
  readonly path: string;
  readonly scanLimit: number | undefined;
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
}

export interface Scan {
  readonly number: number;
  readonly code: CodeEntry;
  readonly kind: Kind;
  readonly visitor: number;
  readonly sentMs: number;
  fate: 'sent' | 'answered' | 'refused';
}

const faultsMax = 50;
/** Responses 410 of a code with a limit before the next such code follows: the limit holds once it is reached. */
const refusalsMin = 20;

export class Ledger {
  readonly #startedMs = performance.now();
  readonly #onLine: (line: string) => void;
  readonly codes: CodeEntry[] = [];
  /** By number. */
  readonly scans: Scan[] = [];
  #limited: CodeEntry | undefined;
  /** Scans that got their redirect, bots' too. */
  answered = 0;
  /** Scans that got none: of codes that are deleted, not known yet or over their limit. */
  refused = 0;
  /** Writes that got a 2xx, and those of them that were sent more than once. */
  acknowledged = 0;
  repeated = 0;
  /** Milliseconds of writes that were answered at the first try. */
  readonly latencies: number[] = [];
  /** Is called for each write that is acknowledged. */
  onWritten: (sentMs: number, atMs: number) => void = () => undefined;
  #writtenMs: number | undefined;
  /** Longest time between two acknowledged writes. */
  writePauseMsMax = 0;
  /** Tries of writes, by status or by what broke them. */
  readonly outcomes = new Map<string, number>();
  reads = 0;
  /** Nodes that were connected when a write was answered: none may show an older state afterwards. */
  promised = 0;
  /** Answers with X-Links-Behind: they promise nothing about the nodes that are behind. */
  linksBehind = 0;
  /** Whatever must not be, in words: the first ones. */
  readonly faults: string[] = [];
  faultCount = 0;
  /** Whose store is being compared. */
  speaker: string | undefined;

  /** @param onLine gets each line of the run as it happens */
  constructor(onLine: (line: string) => void = () => undefined) {
    this.#onLine = onLine;
  }

  /** Something that happened, for whoever reads the run. */
  tell(what: string): void {
    this.#onLine(`${this.#seconds().padStart(9)}  ${what}`);
  }

  /** Something that must not be: counted, the first ones kept in words. */
  note(what: string): void {
    this.faultCount++;
    const said = this.speaker === undefined ? what : `${this.speaker}: ${what}`;
    if (this.faults.length < faultsMax) this.faults.push(`${this.#seconds()}: ${said}`);
  }

  /** Of the run. */
  #seconds(): string {
    return ((performance.now() - this.#startedMs) / 1_000).toFixed(3);
  }

  addCode(scanLimit?: number): CodeEntry {
    const number = this.codes.length;
    const tally = (): Tally => ({ sent: 0, answered: 0, refused: 0 });
    const entry: CodeEntry = {
      number,
      path: `/crash-${number}`,
      scanLimit,
      id: undefined,
      targetSent: 0,
      targetAcknowledged: 0,
      changes: [],
      state: 'creating',
      scans: { ios: tally(), android: tally(), other: tally(), bot: tally() },
      visitorsSent: new Set(),
      visitorsAnswered: new Set(),
    };
    this.codes.push(entry);
    if (scanLimit !== undefined) this.#limited = entry;
    return entry;
  }

  /** The newest code with a limit, from its creation until enough scans of it were refused. */
  get limited(): CodeEntry | undefined {
    const isDone = this.#limited !== undefined && tallyOf(this.#limited).refused >= refusalsMin;
    return isDone ? undefined : this.#limited;
  }

  send(code: CodeEntry, kind: Kind, visitor: number): Scan {
    const number = this.scans.length;
    const sentMs = performance.now();
    const scan: Scan = { number, code, kind, visitor, sentMs, fate: 'sent' };
    this.scans.push(scan);
    code.scans[kind].sent++;
    if (kind !== 'bot') code.visitorsSent.add(visitor);
    return scan;
  }

  /** Takes a complete answer, whatever it says. */
  take(scan: Scan, status: number): void {
    const { code, kind, visitor } = scan;
    scan.fate = status === 302 ? 'answered' : 'refused';
    this[scan.fate]++;
    code.scans[kind][scan.fate]++;
    if (status === 302 && kind !== 'bot') code.visitorsAnswered.add(visitor);
  }

  /** A write is answered that was sent for the first time at `firstMs`, for the last at `sentMs`. */
  written(firstMs: number, sentMs: number): void {
    const nowMs = performance.now();
    this.acknowledged++;
    if (firstMs === sentMs) this.latencies.push(nowMs - sentMs);
    else this.repeated++;
    this.writePauseMsMax = Math.max(this.writePauseMsMax, nowMs - (this.#writtenMs ?? nowMs));
    this.#writtenMs = nowMs;
    this.onWritten(sentMs, nowMs);
  }
}

/** Scans of people. */
export function tallyOf({ scans: { ios, android, other } }: CodeEntry): Tally {
  const sum = (key: keyof Tally): number => ios[key] + android[key] + other[key];
  return { sent: sum('sent'), answered: sum('answered'), refused: sum('refused') };
}

export const targetOf = (code: CodeEntry, target: number): string =>
  `https://target.example/${code.number}/${target}`;

export const isRouted = ({ number, scanLimit }: CodeEntry): boolean =>
  number % 3 === 0 && scanLimit === undefined;

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

/** The number of a target of this code; undefined when the address is not one of its targets. */
export function targetNumber(code: CodeEntry, location: string): number | undefined {
  const match = /^https:\/\/target\.example\/(\d+)\/(\d+)(?:\?to=\w+)?$/.exec(location);
  return match !== null && Number(match[1]) === code.number ? Number(match[2]) : undefined;
}

export const refererOf = (scan: number): string => `https://scan.example/${scan}`;
export const scanOfReferer = (referer: string): number =>
  Number(/^https:\/\/scan\.example\/(\d+)$/.exec(referer)?.[1] ?? -1);
