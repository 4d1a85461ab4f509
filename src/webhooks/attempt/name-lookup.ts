/**
 * Resolves names for one thread: the hosts file, then DNS, all addresses of both families, at most 3 s old.
 *
 * It uses c-ares (`dns.Resolver`), which waits on sockets, so any number of names may hang. getaddrinfo (`dns.lookup`)
 * runs on libuv's four threads, which the process shares with its database commits: four hanging names would block
 * everything. The price: no nsswitch, mDNS or search list of resolv.conf; names must be complete.
 *
 * 3 s are less than the first retry delay (5 s): every retry resolves again, a burst of deliveries resolves once.
 */
import { Resolver } from 'node:dns/promises';
import { readFileSync, statSync } from 'node:fs';
import { isIP } from 'node:net';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../model/clock.ts';

const answerTtlMs = 3_000;
const failureTtlMs = 1_000;
/** Cached names, about 300 bytes each. */
const namesMax = 4_096;
/** One try of one name server; a name takes at most `tries` per server, within the deadline. */
const tryMs = 2_000;
const tries = 2;
/** The machine's list of name servers may change, so it is read again this often. */
const serversTtlMs = 60_000;

export interface NameLookup {
  /**
   * All addresses of a name (without its final dot), at least one; synchronous if known. The array never changes; a
   * new answer is a new array.
   * @throws Error of c-ares (`code` ENOTFOUND, ENODATA, ETIMEOUT, …), as a rejection
   */
  resolve(name: string): readonly string[] | Promise<readonly string[]>;
}

interface NameLookupOptions {
  readonly clock: Clock;
  /** `address:port`; default: the machine's. */
  readonly servers?: readonly string[];
  readonly hostsFile?: string;
}

interface CachedAnswer {
  addresses: readonly string[] | Promise<readonly string[]>;
  /** Monotonic time; Infinity while the lookup runs. */
  untilMs: number;
}

export function openNameLookup(options: NameLookupOptions): NameLookup {
  const { clock, hostsFile = '/etc/hosts' } = options;
  const cached = new LRUCache<string, CachedAnswer>({ max: namesMax });
  const hosts = createHosts(hostsFile);
  const dns = createDns(options);
  const find = async (name: string): Promise<readonly string[]> => hosts(name) ?? (await dns(name));

  const settle = async (entry: CachedAnswer): Promise<void> => {
    try {
      entry.addresses = await entry.addresses;
      entry.untilMs = clock.monotonicMs() + answerTtlMs;
    } catch {
      entry.untilMs = clock.monotonicMs() + failureTtlMs;
    }
  };

  return {
    resolve(given) {
      const name = given.toLowerCase();
      const known = cached.get(name);
      if (known !== undefined && clock.monotonicMs() < known.untilMs) return known.addresses;
      const entry: CachedAnswer = { addresses: find(name), untilMs: Infinity };
      cached.set(name, entry);
      void settle(entry);
      return entry.addresses;
    },
  };
}

function createDns({ clock, servers }: NameLookupOptions) {
  const open = (): Resolver => new Resolver({ timeout: tryMs, tries });
  let resolver = open();
  if (servers !== undefined) resolver.setServers(servers);
  let openedMs = clock.monotonicMs();
  return async (name: string): Promise<readonly string[]> => {
    if (servers === undefined && clock.monotonicMs() > openedMs + serversTtlMs) {
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

/** Reads the hosts file (5) again when it has changed; a missing file has no names. */
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
