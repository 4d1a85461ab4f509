/**
 * Parses JSON bodies strictly. `JSON.parse` alone accepts 500,000 nested arrays (and `stringify` then overflows the stack),
 * turns 1e400 into Infinity, rounds big integers, keeps the last of two equal keys, and makes own `__proto__` properties.
 *
 *   bytes --UTF-8, fatal--> text --scan: depth, equal keys--> JSON.parse --walk: values--> unknown
 *
 * The scan may misread invalid text, which JSON.parse then refuses.
 */
import { Failure, type Fault, faultPathLengthMax } from './failure.ts';
import { shownText } from './text.ts';

const depthMax = 32;
const faultsMax = 100;
const quote = 0x22;
const backslash = 0x5c;

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** @throws Failure invalid_json; validation_failed for values that cannot be stored exactly */
export function parseJson(bytes: Uint8Array): unknown {
  if (bytes.length === 0) throw invalid('it is empty, expected a JSON value');
  const text = decode(bytes);
  scan(text);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw invalid(error instanceof Error ? positionOf(error.message) : 'it is not JSON');
  }
  const faults: Fault[] = [];
  walk(value, '', faults);
  if (faults.length > 0) {
    throw new Failure('validation_failed', 'The body has values that cannot be stored', { faults });
  }
  return value;
}

/** The text at a path of names; undefined where there is none. */
export function textAt(value: unknown, ...path: readonly string[]): string | undefined {
  const found = path.reduce<unknown>((at, name) => Reflect.get(Object(at), name), value);
  return typeof found === 'string' ? found : undefined;
}

function decode(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw invalid('it is not valid UTF-8');
  }
}

/** The parser's message may quote the body, so only the position is used. */
function positionOf(message: string): string {
  const position = /at position \d+(?: \(line \d+ column \d+\))?/.exec(message)?.[0];
  return position === undefined ? 'it ends too early' : `it is not JSON ${position}`;
}

/** Checks depth and equal keys. A level is the set of an object's keys, or undefined for an array. */
function scan(text: string): void {
  const levels: Array<Set<string> | undefined> = [];
  let isKeyNext = false;
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charCodeAt(at);
    if (char === quote) {
      const end = endOfString(text, at);
      if (isKeyNext) takeKey(levels.at(-1), text.slice(at, end + 1));
      isKeyNext = false;
      at = end;
    } else if (char === 0x7b || char === 0x5b) {
      if (levels.length === depthMax) throw invalid(`it nests deeper than ${depthMax} levels`);
      levels.push(char === 0x7b ? new Set() : undefined);
      isKeyNext = char === 0x7b;
    } else if (char === 0x7d || char === 0x5d) {
      levels.pop();
      isKeyNext = false;
    } else if (char === 0x2c) {
      isKeyNext = levels.at(-1) !== undefined;
    }
  }
}

function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const char = text.charCodeAt(at);
    if (char === backslash) at += 1;
    else if (char === quote) return at;
  }
  return text.length;
}

function takeKey(keys: Set<string> | undefined, literal: string): void {
  const key = literal.includes('\\') ? unescape(literal) : literal.slice(1, -1);
  if (keys?.has(key) === true) throw invalid('it repeats a key within one object');
  keys?.add(key);
}

/** The key of an escaped literal; the parser refuses an invalid one. */
function unescape(literal: string): string {
  try {
    return String(JSON.parse(literal));
  } catch {
    return literal;
  }
}

function walk(value: unknown, path: string, faults: Fault[]): void {
  if (faults.length >= faultsMax) return;
  if (typeof value === 'number') checkNumber(value, path, faults);
  else if (typeof value === 'string') checkText(value, path, faults);
  else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) walk(item, join(path, String(index)), faults);
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, item] of Object.entries(value)) {
      const at = join(path, key);
      if (key === '__proto__') {
        faults.push(fault(at, 'unknown_field', 'This name is not allowed'));
      }
      checkText(key, at, faults);
      walk(item, at, faults);
    }
  }
}

function checkNumber(value: number, path: string, faults: Fault[]): void {
  if (Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value))) return;
  const message = 'This number cannot be kept exactly; integers go to 9007199254740991';
  faults.push(fault(path, 'number_out_of_range', message));
}

function checkText(value: string, path: string, faults: Fault[]): void {
  if (value.isWellFormed()) return;
  faults.push(fault(path, 'invalid_text', 'This text holds half of a surrogate pair'));
}

/** Keys of the body are part of the path, so it is cleaned and cut. */
function fault(path: string, code: string, message: string): Fault {
  return { path: shownText(path, faultPathLengthMax), code, message };
}

function join(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}

function invalid(reason: string): Failure {
  return new Failure('invalid_json', `Cannot read the body: ${reason}`);
}
