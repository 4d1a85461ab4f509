/** Checks a body or a query by a zod schema; reports all faults at once, with messages for people. */
import type { z } from 'zod';
import { Failure, type Fault, faultPathLengthMax } from '../../model/failure.ts';
import { shownText } from '../../model/text.ts';

type Issue = z.core.$ZodIssue;

export type Checked<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly faults: readonly Fault[] };

/** Faults in one answer: a body of 64 KB can hold thousands. */
const faultsMax = 100;

export function check<S extends z.ZodType>(schema: S, value: unknown): Checked<z.output<S>> {
  const result = schema.safeParse(value, { reportInput: true });
  if (result.success) return { ok: true, value: result.data };
  return { ok: false, faults: result.error.issues.flatMap(faultsOf).slice(0, faultsMax) };
}

/**
 * Adds the faults of the product to those of the schema, one a field, so that an answer names all of them. If the schema finds
 * no fault, the product checks the body itself.
 *
 * @param faultsOf called with the sound parts of the body
 */
export function withDomainFaults<S extends z.ZodType>(
  schema: S,
  faultsOf: (body: Partial<z.output<S>>, faulty: ReadonlySet<string>) => readonly Fault[],
): S {
  const addMore = (value: z.output<S>, context: z.RefinementCtx<z.output<S>>): void => {
    const { issues } = context;
    const faulty = new Set(issues.map(({ path = [] }) => path.join('.')));
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return;
    for (const { path, code, message } of faultsOf(soundParts(value, issues), faulty)) {
      if (faulty.has(path)) continue;
      context.addIssue({ code: 'custom', path: path.split('.'), message, params: { code } });
    }
  };
  return schema.superRefine(addMore, { when: ({ issues }) => issues.length > 0 });
}

/** The value without its faulty parts: a faulty field is undefined, a faulty item `{}`. A list of a wrong length stays. */
function soundParts<T extends object>(value: T, issues: readonly z.core.$ZodRawIssue[]): T {
  const sound = structuredClone(value);
  for (const { path = [], code, ...issue } of issues) {
    const [last] = path.slice(-1);
    const isListLength =
      (code === 'too_big' || code === 'too_small') && issue['origin'] === 'array';
    if (last === undefined || code === 'unrecognized_keys' || isListLength) continue;
    let parent: unknown = sound;
    for (const key of path.slice(0, -1)) parent = Reflect.get(Object(parent), key);
    if (Array.isArray(parent)) parent[Number(last)] = {};
    else if (typeof parent === 'object' && parent !== null) Reflect.set(parent, last, undefined);
  }
  return sound;
}

export function validationFailure(
  faults: readonly Fault[],
  what: 'body' | 'query' | 'row' | 'input',
): Failure {
  const count = faults.length === 1 ? 'one fault' : `${faults.length} faults`;
  return new Failure('validation_failed', `The ${what} has ${count}`, { faults });
}

function faultsOf(issue: Issue): Fault[] {
  const path = issue.path.map(String);
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.slice(0, faultsMax).map((key) => ({
      path: shownPath([...path, key]),
      code: 'unknown_field',
      message: 'Unknown field',
    }));
  }
  return [{ path: shownPath(path), ...describe(issue) }];
}

/** The path has keys of the client: without hidden characters, and cut. */
function shownPath(path: readonly string[]): string {
  return shownText(path.join('.'), faultPathLengthMax);
}

function describe(issue: Issue): { code: string; message: string } {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return { code: 'required', message: 'This is required' };
      return { code: 'wrong_type', message: `Expected ${article(issue.expected)}` };
    case 'too_small':
      return { code: 'too_small', message: boundText(issue.origin, 'at least', issue.minimum) };
    case 'too_big':
      return { code: 'too_big', message: boundText(issue.origin, 'at most', issue.maximum) };
    case 'invalid_value':
      return { code: 'not_allowed', message: `Expected one of ${issue.values.join(', ')}` };
    case 'invalid_key':
      return describeName(issue.issues[0]);
    case 'invalid_format':
      return { code: 'invalid_format', message: issue.message };
    case 'custom':
      return { code: String(issue.params?.code ?? 'invalid'), message: issue.message };
    default:
      return { code: 'invalid', message: issue.message };
  }
}

/** The fault of a name that the client chose. */
function describeName(issue: Issue | undefined): { code: string; message: string } {
  return issue === undefined
    ? { code: 'invalid', message: 'Expected another name' }
    : describe(issue);
}

const units: Readonly<Record<string, string>> = { string: ' character', array: ' item' };

function boundText(origin: string, bound: string, amount: number | bigint): string {
  const unit = units[origin] ?? '';
  return `Expected ${bound} ${amount}${unit}${unit === '' || Number(amount) === 1 ? '' : 's'}`;
}

const types: Readonly<Record<string, string>> = {
  array: 'a list',
  boolean: 'true or false',
  int: 'a whole number',
  object: 'an object',
  record: 'an object',
};

function article(expected: string): string {
  return types[expected] ?? `a ${expected}`;
}
