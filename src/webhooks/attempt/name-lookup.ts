/**
 * Resolves names for one thread: all addresses of both families, at most 3 s old.
 *
 *   resolve(name) -- resolved within 3 s? the same answer -- hosts file? -- DNS: A and AAAA
 *
 * c-ares (`dns.Resolver`) and not `dns.lookup`: getaddrinfo runs on libuv's pool of four threads, which
 * the whole process shares with its database commits; four endpoints whose name server hangs would block
 * everything. c-ares waits on sockets, so any number of names may hang. The price: nsswitch, mDNS and
 * the search list of resolv.conf are not used; names must be complete.
 *
 * An answer is kept for 3 s, below the first retry delay (5 s): every retry resolves again, while a burst of
 * deliveries resolves once. Connections go to the addresses returned here, so a later answer cannot change
 * what was checked.
 */
import { Resolver } from 'node:dns/promises';
import { readFileSync, statSync } from 'node:fs';
import { isIP } from 'node:net';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../model/clock.ts';

const answerKeptMs = 3_000;
const failureKeptMs = 1_000;
/** Names kept, about 300 bytes each. */
const namesMax = 4_096;
/** One try of one name server; a name takes at most `tries` of them per server, within the deadline. */
const tryMsUsual = 2_000;
const tries = 2;
/** The machine's list of name servers is read again this often: it may change under a long-lived process. */
const serversKeptMs = 60_000;

export interface NameLookup {
  /**
   * All addresses of a name (without its final dot), at least one; at once where they are known. The array is
   * never changed, a new answer is a new one.
   * @throws Error of c-ares (`code` ENOTFOUND, ENODATA, ETIMEOUT, …), as a rejection
   */
  resolve(name: string): readonly string[] | Promise<readonly string[]>;
}

export interface NameLookupOptions {
  readonly clock: Clock;
  /** `address:port`; the machine's own when absent. */
  readonly servers?: readonly string[];
  readonly hostsFile?: string;
  readonly tryMs?: number;
}

interface Kept {
  addresses: readonly string[] | Promise<readonly string[]>;
  /** Monotonic time; Infinity while the answer is awaited. */
  untilMs: number;
}

export function openNameLookup(options: NameLookupOptions): NameLookup {
  const { clock, hostsFile = '/etc/hosts' } = options;
  const kept = new LRUCache<string, Kept>({ max: namesMax });
  const hosts = createHosts(hostsFile);
  const dns = createDns(options);
  const find = async (name: string): Promise<readonly string[]> => hosts(name) ?? (await dns(name));

  const settle = async (entry: Kept): Promise<void> => {
    try {
      entry.addresses = await entry.addresses;
      entry.untilMs = clock.monotonicMs() + answerKeptMs;
    } catch {
      entry.untilMs = clock.monotonicMs() + failureKeptMs;
    }
  };

  return {
    resolve(given) {
      const name = given.toLowerCase();
      const known = kept.get(name);
      if (known !== undefined && clock.monotonicMs() < known.untilMs) return known.addresses;
      const entry: Kept = { addresses: find(name), untilMs: Infinity };
      kept.set(name, entry);
      void settle(entry);
      return entry.addresses;
    },
  };
}

function createDns({ clock, servers, tryMs = tryMsUsual }: NameLookupOptions) {
  const open = (): Resolver => new Resolver({ timeout: tryMs, tries });
  let resolver = open();
  if (servers !== undefined) resolver.setServers(servers);
  let openedMs = clock.monotonicMs();
  return async (name: string): Promise<readonly string[]> => {
    if (servers === undefined && clock.monotonicMs() > openedMs + serversKeptMs) {
      resolver = open();
      openedMs = clock.monotonicMs();
    }
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    const addresses = answers.flatMap((answer) =>
      answer.status === 'fulfilled' ? answer.value : [],
    );
    if (addresses.length > 0) return addresses;
    const failed = answers.find((answer) => answer.status === 'rejected');
    throw failed?.reason ?? new Error(`Cannot resolve ${name}: no addresses`);
  };
}

/** The hosts file (5), read again when it has changed; a missing one has no names. */
function createHosts(file: string) {
  let names = new Map<string, string[]>();
  let readAtMs = -1;
  return (name: string): readonly string[] | undefined => {
    const changedMs = statSync(file, { throwIfNoEntry: false })?.mtimeMs;
    if (changedMs !== undefined && changedMs !== readAtMs) {
      names = parseHosts(readFileSync(file, 'utf8'));
      readAtMs = changedMs;
    }
    return names.get(name);
  };
}

function parseHosts(text: string): Map<string, string[]> {
  const names = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...given] = line.replace(/#.*/, '').trim().toLowerCase().split(/\s+/);
    if (isIP(address) === 0) continue;
    for (const name of given) names.set(name, [...(names.get(name) ?? []), address]);
  }
  return names;
}
