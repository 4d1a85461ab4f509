/**
 * Targets: what a code leads to (dynamic) or says (static), one rule per type.
 *
 *   url    http or https, stored as the WHATWG href; no credentials, not our own short links, nor any
 *          other name of this machine's loopback while they are at one of them: a redirect to itself
 *   text   any text
 *   email  `name@host`, or `mailto:name@host` with an optional `?subject=…&body=…`; stored with `mailto:`
 *   phone  `+` and up to 15 digits (E.164) or a local number from 3 digits; stored with `tel:`, without
 *          separators and without the `(0)` of an international number
 *   sms    a phone number, `sms:number[?body=…]` or `SMSTO:number[:text]`; a number is stored as `SMSTO:number`
 *   wifi   `WIFI:T:WPA;S:name;P:password;;` with `\` before `\ ; , : "` inside values
 *   vcard  `BEGIN:VCARD` … `END:VCARD` with VERSION 2.1, 3.0 or 4.0 and a name (FN or N)
 *   geo    `latitude,longitude` in degrees, RFC 5870 parameters after it; stored with `geo:`
 *
 * Phones act on the scheme, so what a person types without one gets it. A static target is drawn into the symbol as it is, so its bound is the symbol's: 2,331 bytes at
 * error correction M; 2,000 leaves a margin. All types refuse what can hide or reorder text on a screen:
 * control characters, bidirectional controls, invisible characters, lone surrogates.
 */
import type { CodeType } from '../../model/code.ts';
import type { Fault } from '../../model/failure.ts';
import { hiddenCharacters, hiddenFault, lineBreaking } from '../../model/text.ts';
import { fault } from './rules.ts';

export const urlLengthMax = 2_048;
const staticBytesMax = 2_000;

const space = /\s/;
const headerSafe = /^[\x21-\x7e]+$/;
const schemeAndAuthority = /^https?:\/\/([^/?#\\]*)([^?#]*)/i;
/** The parser takes `https://。` for the host `.`; one dot at the end is the root of DNS. */
const emptyLabel = /^\.|\.\./;
const emailAddress =
  /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)+$/;
const emailLengthMax = 254;
const phoneSeparators = /[\s()./\u2010-\u2013-]/g;
const phoneNumber = /^\+?\d{3,15}$/;
const wifiShape = /^WIFI:((?:[^\\;]|\\.)*;)+;?$/i;
const wifiField = /([A-Za-z0-9]+):((?:[^\\;]|\\.)*);/g;
const wifiSecurity: ReadonlySet<string> = new Set(['WPA', 'WPA2', 'WPA3', 'SAE', 'WEP', 'NOPASS']);
const ssidBytesMax = 32;
/** IEEE 802.11i: a passphrase has at most 63 characters, a key 64 hexadecimal digits. */
const wifiPasswordMax = 64;
/** What reaches this machine from itself, as the parser spells it; 0.0.0.0 and [::] connect to it too. */
const loopback =
  /^(?:localhost|.+\.localhost|localhost\.localdomain|ip6-localhost|ip6-loopback|127\.\d+\.\d+\.\d+|0\.0\.0\.0|\[::1?\]|\[::ffff:(?:7f[\da-f]{2}:[\da-f]+|0:0)\])$/;
const coordinates =
  /^(-?\d{1,2}(?:\.\d{1,17})?),(-?\d{1,3}(?:\.\d{1,17})?)(?:,-?\d+(?:\.\d+)?)?(?:[;?][\x21-\x7e]*)?$/i;

export type CheckedTarget = { readonly target: string } | readonly Fault[];

export function isFaults(checked: CheckedTarget): checked is readonly Fault[] {
  return Array.isArray(checked);
}

/**
 * Checks a target and brings it into the form that is stored and drawn.
 * @param ownHosts hosts (`name` or `name:port`) of the short-link address, which may not be a target
 */
export function validateTarget(
  type: CodeType,
  target: string,
  ownHosts: readonly string[],
): CheckedTarget {
  if (target === '') return bad('required', 'A target is required');
  if (!target.isWellFormed() || hiddenCharacters.test(target)) {
    return bad('invalid_characters', hiddenFault);
  }
  if (type === 'url') return urlTarget(target, ownHosts);
  if (Buffer.byteLength(target) > staticBytesMax) {
    return bad('too_long', `At most ${staticBytesMax} bytes fit into a readable symbol`);
  }
  if (type !== 'text' && type !== 'vcard' && lineBreaking.test(target)) {
    return bad('invalid_characters', lineBreakFault);
  }
  return staticRules[type](target);
}

const staticRules: Readonly<Record<Exclude<CodeType, 'url'>, (target: string) => CheckedTarget>> = {
  text: (target) => (target.trim() === '' ? bad('required', 'Text is required') : { target }),
  email: emailTarget,
  phone: phoneTarget,
  sms: smsTarget,
  wifi: wifiTarget,
  vcard: vcardTarget,
  geo: geoTarget,
};

function urlTarget(target: string, ownHosts: readonly string[]): CheckedTarget {
  if (target.length > urlLengthMax) return tooLong;
  // The parser strips and repairs; what it would have to repair is refused, so that what a person
  // reads is what a browser opens.
  if (lineBreaking.test(target)) return bad('invalid_characters', lineBreakFault);
  const raw = schemeAndAuthority.exec(target.trimStart());
  if (raw === null) return bad('invalid_url', notAnAddress(target));
  if (space.test(target)) return bad('invalid_characters', spaceFault(target, raw[1] ?? ''));
  // `http:///name` has no host to a reader; the parser would take the path's first part for one.
  if (raw[1] === '') return bad('invalid_url', `A host is required after the two slashes, ${such}`);
  if (raw[1]?.includes('@') === true)
    return bad('credentials', 'A user name or password is not allowed');
  if (raw[2]?.includes('\\') === true)
    return bad('invalid_url', 'A backslash is not allowed before the query');
  const url = URL.parse(target);
  if (url === null || url.hostname === '' || emptyLabel.test(url.hostname)) {
    return bad('invalid_url', `The host of the address is not valid, expected one ${such}`);
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    return bad('invalid_url', notAnAddress(target));
  }
  if (url.username !== '' || url.password !== '') {
    return bad('credentials', 'A user name or password is not allowed');
  }
  if (url.href.length > urlLengthMax) return tooLong;
  if (!headerSafe.test(url.href))
    return bad('invalid_characters', 'The address has characters that cannot be printed');
  if (ownHosts.some((own) => sameHost(url, own))) {
    return bad('own_host', 'A short link cannot lead to the short-link host itself');
  }
  return { target: url.href };
}

const lineBreakFault = 'Tabs and line breaks are not allowed';
const such = 'such as https://example.com/menu';

/** For a text that does not begin as an address does. */
function notAnAddress(target: string): string {
  const scheme = /^\s*([a-z][a-z0-9+.-]*:)(?!\d)/i.exec(target)?.[1];
  if (scheme === undefined || /^https?:/i.test(scheme))
    return `This is not a web address: expected one ${such}`;
  return `Expected an address that begins with http:// or https://, not with ${scheme.slice(0, 20)}`;
}

function spaceFault(target: string, authority: string): string {
  if (target.trim() !== target) return 'White space before or after the address is not allowed';
  if (space.test(authority)) return `White space is not allowed in a host, expected one ${such}`;
  return 'White space is not allowed; write it as %20';
}

/**
 * Whether `url` is at `own`: whatever the case, a trailing dot, the default port of either scheme, or,
 * for a loopback, the spelling.
 * An own host on a port of its own is another service than the same name on another port.
 */
function sameHost(url: URL, own: string): boolean {
  const mine = URL.parse(`http://${own}`);
  if (mine === null) return false;
  if (plainHost(mine) !== plainHost(url)) return false;
  const port = (one: URL): string => (one.port === '80' || one.port === '443' ? '' : one.port);
  return port(mine) === port(url);
}

function plainHost({ hostname }: URL): string {
  const host = hostname.replace(/\.+$/, '');
  return loopback.test(host) ? 'localhost' : host;
}

function emailTarget(target: string): CheckedTarget {
  const written = target.trim();
  const rest = written.replace(/^mailto:/i, '');
  const [address, query] = split(rest, '?');
  const plain = query === undefined || rest !== written;
  return plain && address.length <= emailLengthMax && emailAddress.test(address)
    ? { target: `mailto:${rest}` }
    : bad(
        'invalid_email',
        'Expected an address such as name@example.com, or mailto:name@example.com',
      );
}

function phoneTarget(target: string): CheckedTarget {
  const number = dialed(target.trim().replace(/^tel:/i, ''));
  return phoneNumber.test(number)
    ? { target: `tel:${number}` }
    : bad('invalid_phone', 'Expected a number such as +49301234567, at most 15 digits');
}

/** The number without what people write for the eye: `+49 (0) 30 1` is dialed without that 0. */
function dialed(written: string): string {
  return written.replace(/^(\s*\+.*)\(0\)/, '$1').replace(phoneSeparators, '');
}

function smsTarget(target: string): CheckedTarget {
  const scheme = /^\s*(?:smsto|sms):/i.exec(target)?.[0] ?? '';
  const rest = target.slice(scheme.length);
  const isSmsto = /smsto/i.test(scheme);
  const mark = isSmsto ? ':' : '?';
  const [written, body] = split(rest, mark);
  const number = dialed(written);
  if (!phoneNumber.test(number) || (scheme === '' && body !== undefined)) {
    return bad('invalid_sms', 'Expected a number, sms:number?body=text or SMSTO:number:text');
  }
  if (body === undefined) return { target: `SMSTO:${number}` };
  return { target: `${isSmsto ? 'SMSTO' : 'sms'}:${number}${mark}${body}` };
}

function wifiTarget(target: string): CheckedTarget {
  if (!wifiShape.test(target))
    return bad('invalid_wifi', 'Expected WIFI:T:WPA;S:name;P:password;;');
  const fields = new Map<string, string>();
  for (const [, name = '', value = ''] of target.slice('WIFI:'.length).matchAll(wifiField)) {
    if (fields.has(name.toUpperCase())) return bad('invalid_wifi', `Field ${name} appears twice`);
    fields.set(name.toUpperCase(), value.replace(/\\(.)/g, '$1'));
  }
  const security = (fields.get('T') ?? 'nopass').toUpperCase();
  if (!wifiSecurity.has(security))
    return bad('invalid_wifi', 'Expected T to be WPA, SAE, WEP or nopass');
  const ssidBytes = Buffer.byteLength(fields.get('S') ?? '');
  if (ssidBytes < 1 || ssidBytes > ssidBytesMax) {
    return bad(
      'invalid_wifi',
      `Expected S, the network's name, to have 1 to ${ssidBytesMax} bytes`,
    );
  }
  const password = fields.get('P') ?? '';
  if (security === 'NOPASS' || security === 'WEP') return { target };
  return password !== '' && password.length <= wifiPasswordMax
    ? { target }
    : bad('invalid_wifi', `Expected P, the password, to have 1 to ${wifiPasswordMax} characters`);
}

function vcardTarget(target: string): CheckedTarget {
  const lines = target.split(/\r\n|\r|\n/).filter((line) => line !== '');
  const has = (pattern: RegExp): boolean => lines.some((line) => pattern.test(line));
  const framed =
    /^BEGIN:VCARD$/i.test(lines[0] ?? '') && /^END:VCARD$/i.test(lines[lines.length - 1] ?? '');
  if (!framed)
    return bad('invalid_vcard', 'Expected BEGIN:VCARD in the first line and END:VCARD in the last');
  if (!has(/^VERSION:(?:2\.1|3\.0|4\.0)$/i)) {
    return bad('invalid_vcard', 'Expected a line VERSION:2.1, VERSION:3.0 or VERSION:4.0');
  }
  if (!has(/^(?:FN|N)(?:;[^:]*)?:.*[^;\s]/i))
    return bad('invalid_vcard', 'Expected a name: a line FN: or N:');
  return { target };
}

function geoTarget(target: string): CheckedTarget {
  const place = target.trim().replace(/^geo:/i, '').replace(/,\s+/, ',');
  const match = coordinates.exec(place);
  const latitude = Number(match?.[1]);
  const longitude = Number(match?.[2]);
  return match !== null && Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180
    ? { target: `geo:${place}` }
    : bad('invalid_geo', 'Expected latitude and longitude in degrees, such as 52.5163,13.3777');
}

export const tooLong: readonly Fault[] = bad('too_long', `At most ${urlLengthMax} characters`);

function bad(code: string, message: string): readonly Fault[] {
  return [fault('target', code, message)];
}

/** The text before the first `mark`, and the text after it when there is one. */
function split(text: string, mark: string): [string, string?] {
  const at = text.indexOf(mark);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}
