/**
 * Guards against server-side request forgery: a webhook may reach the public internet only, never this machine, its
 * neighbors or a cloud's metadata service. `urlFault` checks the form of a URL and a literal address when it is
 * registered. Every attempt checks both again (`target`) and all addresses of a name (`addresses`): if one is denied, the
 * attempt is refused, and only these addresses may be connected to (connections.ts looks up nothing).
 *
 * The WHATWG parser parses the text once, and every check looks at its result: 2130706433, 0x7f.1, 0177.0.0.1 and
 * full-width digits are all 127.0.0.1 by then. `localhost` and its subdomains (RFC 6761) are not looked up.
 *
 * Denied: IPv4  every special range of ipaddr.js, also of later versions, except AS112 and AMT, which are public services;
 *               and Azure's platform address
 *         IPv6  everything outside 2000::/3, and the parts of it below; 6to4, as such
 * The address inside a mapped (::ffff:0:0/96), NAT64 (64:ff9b::/96) or 6to4 address is checked too. `allowNetworks` opens
 * blocks, never inner addresses: 2002:7f00:1:: (127.0.0.1) stays refused if 2002::/16 is open.
 */
import { isIP } from 'node:net';
import { LRUCache } from 'lru-cache';
import { type Address, ipv4Inside, isIpv4, CidrSet, parseAddress } from '../../model/address.ts';
import type { Fault } from '../../model/failure.ts';
import type { FailureClass } from '../../model/webhook.ts';
import type { NameLookup } from './name-lookup.ts';

const urlLengthMax = 2_048;
/** Cached targets, about 1 KB each. */
const targetsMax = 4_096;
/** Addresses of a name that are tried; all are checked. */
const addressesTriedMax = 8;

const httpScheme = /^https?:\/\/([^/?#\\]+)/i;
const visibleAscii = /^[\x21-\x7e]+$/;
const loopback = ['127.0.0.1', '::1'];

/** Public IPv4 ranges by their names in ipaddr.js. */
const publicIpv4: ReadonlySet<string> = new Set(['unicast', 'as112', 'amt']);
const azurePlatform = new CidrSet(['168.63.129.16']);
const globalIpv6 = new CidrSet(['2000::/3']);
const deniedIpv6 = new CidrSet([
  '2001::/23', // protocol assignments, Teredo
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4
  '3fff::/20', // documentation
]);
const sixToFour = new CidrSet(['2002::/16']);
const nat64 = new CidrSet(['64:ff9b::/96']);

export class AddressGuard {
  readonly #allowed: CidrSet;

  /** @param allowNetworks CIDR blocks, validated by config */
  constructor(allowNetworks: readonly string[]) {
    this.#allowed = new CidrSet(allowNetworks);
  }

  /** Whether `text` (without brackets) must not be connected to; true if it is not an address. */
  isDenied(text: string): boolean {
    const address = parseAddress(text);
    // A zone (`fe80::1%eth0`) is for link-local addresses alone.
    return address === undefined || text.includes('%') || this.#isDenied(address);
  }

  #isDenied(address: Address): boolean {
    if (nat64.has(address)) return this.#isDenied(ipv4Inside(address, 6));
    if (sixToFour.has(address) && this.#isDenied(ipv4Inside(address, 1))) return true;
    if (this.#allowed.has(address)) return false;
    if (!isIpv4(address)) return deniedIpv6.has(address) || !globalIpv6.has(address);
    return azurePlatform.has(address) || !publicIpv4.has(address.toIPv4Address().range());
  }
}

export interface Target {
  readonly origin: string;
  readonly path: string;
  /** Without brackets and final dot. */
  readonly host: string;
  /** The allowed addresses if the host is an address or localhost; empty for a name. */
  readonly addresses: readonly string[];
}

export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly failure: FailureClass;

  constructor(failure: FailureClass, reason: string, options?: ErrorOptions) {
    super(reason, options);
    this.failure = failure;
  }
}

/** The fault of an endpoint's URL, or undefined. A name's addresses are checked at every attempt. */
export function urlFault(guard: AddressGuard, text: string): Fault | undefined {
  const parsed = parseTarget(guard, text);
  return 'code' in parsed ? parsed : undefined;
}

export class Egress {
  readonly #guard: AddressGuard;
  readonly #names: NameLookup;
  readonly #targets = new LRUCache<string, Target>({ max: targetsMax });
  /** Checked answers and the addresses to try: an answer is reused for 3 s, a check costs 3 to 9 µs an address. */
  readonly #checked = new WeakMap<object, readonly string[]>();

  constructor(guard: AddressGuard, names: NameLookup) {
    this.#guard = guard;
    this.#names = names;
  }

  /** @throws Refusal `blocked_ip`, or `protocol` for an invalid URL */
  target(url: string): Target {
    const known = this.#targets.get(url);
    if (known !== undefined) return known;
    const parsed = parseTarget(this.#guard, url);
    if ('code' in parsed) {
      throw new Refusal(parsed.code === 'blocked_ip' ? 'blocked_ip' : 'protocol', parsed.message);
    }
    this.#targets.set(url, parsed);
    return parsed;
  }

  /** At most 8 allowed addresses; synchronous if known. @throws Refusal `dns` or `blocked_ip`, as a rejection */
  addresses(target: Target): readonly string[] | Promise<readonly string[]> {
    if (target.addresses.length > 0) return target.addresses;
    const found = this.#names.resolve(target.host);
    return this.#checked.get(found) ?? this.#check(found);
  }

  async #check(found: ReturnType<NameLookup['resolve']>): Promise<readonly string[]> {
    const addresses = await Promise.resolve(found).catch((error: unknown) => {
      throw new Refusal('dns', 'The name has no address', { cause: error });
    });
    const checked = this.#checked.get(addresses);
    if (checked !== undefined) return checked;
    if (addresses.some((address) => this.#guard.isDenied(address))) {
      throw new Refusal('blocked_ip', 'An address of the name is not allowed');
    }
    const tried = addresses.slice(0, addressesTriedMax);
    this.#checked.set(addresses, tried);
    return tried;
  }
}

const blockedText =
  'An address of this machine, a private network or a reserved range. The operator can open networks with the ' +
  'setting webhooks.allowNetworks';

function parseTarget(guard: AddressGuard, text: string): Target | Fault {
  if (text.length > urlLengthMax) return fault('too_long', `At most ${urlLengthMax} characters`);
  // The parser would strip white space and controls, but a person must read exactly the URL that is called.
  if (/[\s\p{Cc}\p{Cf}]/u.test(text)) {
    return fault('invalid_characters', 'No white space, control or invisible characters');
  }
  const authority = httpScheme.exec(text)?.[1];
  const url = authority === undefined ? null : URL.parse(text);
  const host = url?.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '') ?? '';
  if (authority === undefined || url === null || host === '') {
    return fault('invalid_url', 'An address that begins with http:// or https://');
  }
  if (authority.includes('@')) return fault('credentials', 'No user name or password');
  const path = url.pathname + url.search;
  if (!visibleAscii.test(path)) return fault('invalid_url', 'Not a valid address');
  const literal = addressesOf(host);
  const addresses = literal.filter((address) => !guard.isDenied(address));
  if (literal.length > 0 && addresses.length === 0) return fault('blocked_ip', blockedText);
  return { origin: url.origin, path, host, addresses };
}

function addressesOf(host: string): readonly string[] {
  if (isIP(host) !== 0) return [host];
  return host === 'localhost' || host.endsWith('.localhost') ? loopback : [];
}

const fault = (code: string, message: string): Fault => ({ path: 'url', code, message });
