/**
 * What a running service and another process say to each other, as lines of JSON over the folder's lock (folder-lock.ts).
 *
 *   another start (folder-lock.ts)                    running service
 *     status --->
 *                          <--- running; a command, and a service that starts or stops, refuses unasked
 *
 *   any process (opening/)                            running service
 *     open {pid, pidNamespace} --->                     takes the writer's lock of every data file
 *                          <--- held
 *     opens them, ends the connection --->              lets go
 *
 *   successor (predecessor-connection.ts)             predecessor (successor-connection.ts)
 *     takeover {protocol, release, dataVersions, pid, pidNamespace} --->
 *                          <--- accepted {release, pid, journals, ports}, or refused {reason}
 *     boots
 *     ready --->                                        yields its services: 20 s at most
 *                          <--- yielded {limits, tails}, or refused {reason}
 *     opens its services and listens
 *     listening --->                                    stops listening, answers what is open
 *     changed {link} --->  <--- followed {link}         from `yielded` to `ended`
 *                          <--- tails {tails}           while it journals
 *                          <--- ended {tails, lostScans}
 *     understood, ends the connection --->              exits
 *
 * The connection is the sign of life: the kernel ends it with the last thread of a process. So neither side ends it while
 * the other one could take that for its death and begin to write.
 *
 *   before `ready`   a fault, or 20 s of silence, ends the connection, and the running service continues. A fault is a line
 *                    that is no message, or that the state does not expect.
 *   after `ready`    the successor may write. The predecessor kills it at a fault, or if it does not listen within 30 s;
 *                    it takes back once the connection has ended, until it has received `understood`.
 *   after `yielded`  the successor skips faults. It kills a predecessor that does not end within 20 s of `listening`.
 */

export const protocol = 1;
/** A line of the conversation. */
export const lineBytesMax = 65_536;
/** Of a predecessor once it has accepted: the limits of a million codes have 20 MB. */
export const yieldedBytesMax = 67_108_864;

export interface DataVersions {
  readonly management: number;
  readonly scans: number;
  readonly delivery: number;
}

/** The ends of journals: what lies before them is journaled. */
export type Tails = ReadonlyArray<readonly [journal: number, position: number]>;
/** How many scans limited codes have had, exactly (codes/links/link-loader.ts). */
export type Limits = ReadonlyArray<readonly [codeNo: number, scansUsed: number]>;

export interface TakeoverMessage {
  readonly type: 'takeover';
  readonly protocol: typeof protocol;
  readonly release: string;
  readonly dataVersions: DataVersions;
  readonly pid: number;
  readonly pidNamespace: string;
}

/** Of a process that opens the data files: a successor, or a command. */
export interface OpenMessage {
  readonly type: 'open';
  readonly pid: number;
  readonly pidNamespace: string;
}

export type SuccessorMessage =
  | OpenMessage
  /** Of a start that found the folder locked. */
  | { readonly type: 'status' }
  | TakeoverMessage
  /** Of a later release: the rest of it is unknown. */
  | { readonly type: 'other protocol'; readonly protocol: number }
  | { readonly type: 'ready' }
  | { readonly type: 'listening' }
  /** Link changes up to this number are stored. */
  | { readonly type: 'changed'; readonly link: number }
  /** `ended` was received: the successor goes on alone. */
  | { readonly type: 'understood' };

export interface AcceptedMessage {
  readonly type: 'accepted';
  readonly release: string;
  readonly pid: number;
  readonly journals: readonly number[];
  readonly ports: readonly number[];
}

export interface YieldedMessage {
  readonly type: 'yielded';
  readonly limits: Limits;
  readonly tails: Tails;
}

export type PredecessorMessage =
  /** No commit is under way until the connection ends. */
  | { readonly type: 'held' }
  | { readonly type: 'running' }
  | { readonly type: 'refused'; readonly reason: string }
  | AcceptedMessage
  | YieldedMessage
  | { readonly type: 'tails'; readonly tails: Tails }
  /** Redirects by every link change up to this number. */
  | { readonly type: 'followed'; readonly link: number }
  | { readonly type: 'ended'; readonly tails: Tails; readonly lostScans: number };

export const lineOf = (message: SuccessorMessage | PredecessorMessage): string =>
  `${JSON.stringify(message)}\n`;

/** @returns undefined for what is no message of a successor */
export function parseSuccessorMessage(line: string): SuccessorMessage | undefined {
  const fields = parseFields(line);
  switch (fields?.['type']) {
    case 'open':
      return parseOpen(fields);
    case 'takeover':
      return parseTakeover(fields);
    case 'status':
    case 'ready':
    case 'listening':
    case 'understood':
      return { type: fields['type'] };
    case 'changed': {
      const { link } = fields;
      return isCount(link) ? { type: 'changed', link } : undefined;
    }
    default:
      return undefined;
  }
}

function parseOpen({ pid, pidNamespace }: Fields): OpenMessage | undefined {
  return isCount(pid) && isText(pidNamespace) ? { type: 'open', pid, pidNamespace } : undefined;
}

function parseTakeover(fields: Fields): SuccessorMessage | undefined {
  const { release, dataVersions, pid, pidNamespace } = fields;
  if (!isCount(fields['protocol'])) return undefined;
  if (fields['protocol'] !== protocol) {
    return { type: 'other protocol', protocol: fields['protocol'] };
  }
  if (!isText(release) || !isCount(pid) || !isText(pidNamespace)) return undefined;
  if (!isFields(dataVersions)) return undefined;
  const { management, scans, delivery } = dataVersions;
  if (!isCount(management) || !isCount(scans) || !isCount(delivery)) return undefined;
  return {
    type: 'takeover',
    protocol,
    release,
    dataVersions: { management, scans, delivery },
    pid,
    pidNamespace,
  };
}

/** @returns undefined for what is no message of a predecessor */
export function parsePredecessorMessage(line: string): PredecessorMessage | undefined {
  const fields = parseFields(line);
  if (fields === undefined) return undefined;
  const { type, reason, release, pid, journals, ports, limits, tails, link, lostScans } = fields;
  switch (type) {
    case 'held':
    case 'running':
      return { type };
    case 'refused':
      return isText(reason) ? { type, reason } : undefined;
    case 'accepted':
      if (!isText(release) || !isCount(pid)) return undefined;
      if (!isCounts(journals) || !isCounts(ports)) return undefined;
      return { type, release, pid, journals, ports };
    case 'yielded':
      return isPairs(limits) && isPairs(tails) ? { type, limits, tails } : undefined;
    case 'tails':
      return isPairs(tails) ? { type, tails } : undefined;
    case 'followed':
      return isCount(link) ? { type, link } : undefined;
    case 'ended':
      return isPairs(tails) && isCount(lostScans) ? { type, tails, lostScans } : undefined;
    default:
      return undefined;
  }
}

type Fields = Readonly<Record<string, unknown>>;

function parseFields(line: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isFields(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null;

const isCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;

const isCounts = (value: unknown): value is number[] =>
  Array.isArray(value) && value.every((item) => isCount(item));

const isPairs = (value: unknown): value is Array<readonly [number, number]> =>
  Array.isArray(value) && value.every((item) => isCounts(item) && item.length === 2);

const textLengthMax = 2_000;

const isText = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= textLengthMax;
