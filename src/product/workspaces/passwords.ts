/**
 * Password hashes: scrypt (RFC 7914) with N = 2^15, r = 8, p = 3, one of the settings that OWASP's
 * password storage sheet lists as equal: 32 MB of memory and about 0.2 s of a pool thread a try.
 * The hash contains its parameters, so that they can grow and old hashes still verify.
 *
 *   scrypt$15$8$3$<salt, 16 bytes base64url>$<hash, 32 bytes base64url>
 *
 * A salt is random, except for accounts that share an address (users.ts): theirs is derived from the address and a
 * secret of the installation, so one hash finds the account of a password, however many there are.
 */
import { createHmac, type KeyObject, scrypt } from 'node:crypto';
import pLimit from 'p-limit';
import { Failure, invalid } from '../../model/failure.ts';
import type { RandomBytes } from '../../model/ids.ts';
import { isSameText, randomText } from './secret-text.ts';

const productionCostLog2 = 15;
const blockSize = 8;
const parallelism = 3;
const saltBytes = 16;
const hashBytes = 32;
/** A stored hash that costs more is refused: it could stall the pool. */
const costLog2Max = 20;
/** Of passwords that people choose; the operator may set others. */
export const passwordLengthMin = 8;
/** Longer ones are refused unhashed: hashing time would follow the length. */
export const passwordLengthMax = 256;
/**
 * Node runs file and crypto work on the same four threads: two hashes at a time leave two for journals
 * and stores. At 0.2 s a try 32 that wait are done within about 4 s; one more is refused. So a flood of
 * sign-ins costs a fixed share of the process's threads and memory, whatever its size.
 */
const waitingMax = 32;
const usualAtOnce = 2;
const limit = pLimit(usualAtOnce);

/** One bound for a process. @param atOnce hashes under way in it, 32 MB each */
export function limitHashes(atOnce = usualAtOnce): void {
  limit.concurrency = atOnce;
}

const hashShape =
  /^scrypt\$(\d{1,2})\$(\d{1,2})\$(\d{1,2})\$([A-Za-z0-9_-]{22})\$([A-Za-z0-9_-]{43})$/;

export interface PasswordsOptions {
  readonly randomBytes: RandomBytes;
  /** log2 of scrypt's N for new hashes; tests hand in a small one. */
  readonly costLog2?: number | undefined;
  /** Of the installation, for salts of addresses. */
  readonly secret: () => KeyObject;
}

export class Passwords {
  readonly #randomBytes: RandomBytes;
  readonly #costLog2: number;
  readonly #secret: () => KeyObject;

  constructor({ randomBytes, costLog2 = productionCostLog2, secret }: PasswordsOptions) {
    this.#randomBytes = randomBytes;
    this.#costLog2 = costLog2;
    this.#secret = secret;
  }

  /** @throws Failure validation_failed for a password that is too long, overloaded */
  async hash(password: string): Promise<string> {
    return await hashUnder(this.#prefix(randomText(saltBytes, this.#randomBytes)), password);
  }

  /** Parameters and salt of the hashes of accounts that share an address. @param address folded */
  prefixOf(address: string): string {
    const digest = createHmac('sha256', this.#secret()).update(`salt of ${address}`).digest();
    return this.#prefix(digest.subarray(0, saltBytes).toString('base64url'));
  }

  #prefix(salt: string): string {
    return ['scrypt', this.#costLog2, blockSize, parallelism, salt, ''].join('$');
  }
}

/**
 * Refuses what an attacker tries first. Uses the list of zxcvbn alone, because zxcvbn itself takes up to 6 s for one
 * password of 64 characters. The list is loaded when the first password is chosen.
 * @param path of the password in the request @param own names and addresses of the person
 * @throws Failure validation_failed
 */
export async function assertStrong(path: string, password: string, own: readonly string[]) {
  if (password.length < passwordLengthMin) {
    throw invalid(path, 'too_short', `Expected at least ${passwordLengthMin} characters`);
  }
  const folded = foldText(password);
  const whole = ['quietzone', ...own.map(foldText)];
  const words = [...whole, ...whole.flatMap((text) => text.split(/[^\p{L}\p{N}]+/u))];
  const long = words.filter(({ length }) => length > 2);
  const rest = long.reduce((text, word) => text.replaceAll(word, ''), folded);
  if (rest !== folded && !/\p{L}/u.test(rest)) {
    const what = 'your e-mail address, your name or the name Quietzone';
    throw invalid(path, 'too_weak', `This password is made of ${what}. ${another}`);
  }
  const { commonPasswords } = await import('./common-passwords.ts');
  const plain = folded.replace(/[^\p{L}]{1,4}$/u, '');
  const isCommon = [folded, plain].some((text) => commonPasswords.includes(text));
  if (!isCommon && new Set(folded).size > 2) return;
  throw invalid(path, 'too_weak', `Attackers try this password among the first. ${another}`);
}

const another = 'Choose another, such as four words.';
const foldText = (text: string): string => text.normalize('NFKC').toLowerCase();

/** 18 random bytes as 24 characters: 144 bits. */
export function generatePassword(randomBytes: RandomBytes): string {
  return randomText(18, randomBytes);
}

/** Compares in constant time. @throws Failure overloaded; Error for a stored hash of another form */
export async function passwordMatches(password: string, stored: string): Promise<boolean> {
  const prefix = prefixIn(stored);
  if (password.length > passwordLengthMax) return false;
  return isSameText(await hashUnder(prefix, password), stored);
}

/** Parameters and salt of a stored hash. @throws Error where it has another form, or costs too much */
export function prefixIn(stored: string): string {
  const [, cost] = hashShape.exec(stored) ?? [];
  if (cost === undefined) {
    throw new Error('Cannot verify a password: the stored hash has another form');
  }
  if (Number(cost) > costLog2Max) throw new Error('Cannot verify a password: its cost is too high');
  return stored.slice(0, stored.lastIndexOf('$') + 1);
}

/** The hash with these parameters and salt. @throws Failure validation_failed, overloaded */
export async function hashUnder(prefix: string, password: string): Promise<string> {
  if (password.length > passwordLengthMax) {
    throw invalid('password', 'too_long', `At most ${passwordLengthMax} characters`);
  }
  const [, cost, block, parallel, salt = ''] = prefix.split('$');
  const saltOf = Buffer.from(salt, 'base64url');
  const hash = await derive(password, saltOf, Number(cost), Number(block), Number(parallel));
  return prefix + hash.toString('base64url');
}

async function derive(
  password: string,
  salt: Buffer,
  log2: number,
  r: number,
  p: number,
): Promise<Buffer> {
  if (limit.activeCount + limit.pendingCount >= limit.concurrency + waitingMax) {
    const retry = { retryAfterSeconds: 5 };
    throw new Failure('overloaded', 'Too many passwords are being checked', retry);
  }
  // Unicode has several spellings of one text; keyboards differ in which they send.
  const text = password.normalize('NFKC');
  const cost = 2 ** log2;
  const settings = { N: cost, r, p, maxmem: 128 * cost * r * 2 };
  return await limit(
    () =>
      new Promise<Buffer>((resolve, reject) => {
        scrypt(text, salt, hashBytes, settings, (error, made) => {
          if (error === null) resolve(made);
          else reject(error);
        });
      }),
  );
}
