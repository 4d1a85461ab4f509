/** Links with programs, made of a code's fields as the service makes them. */
import type { Link } from '../../../src/engine/links/layout.ts';
import type { Routing, RouteVariant } from '../../../src/model/routing/routing.ts';
import { compileLink } from '../../../src/engine/routes/compile.ts';
import { linkOf } from './table.ts';

export const plainTarget = 'https://example.com/plain';
/** Where a rule or a variant of this label leads. */
export const targetOf = (label: string): string => `https://example.com/${label}`;

/** Without rules; labels are those of rules and variants, in their order. */
export function routingOf(fields: Partial<Routing>): Routing {
  const { rules = [], split = [] } = fields;
  const ofRules = rules.flatMap(({ label, then }) => [
    label,
    ...('split' in then ? then.split.map((variant) => variant.label) : []),
  ]);
  const names = [...ofRules, ...split.map(({ label }) => label)];
  return {
    rules,
    passQuery: false,
    paused: false,
    labels: names.map((name) => ({ name })),
    campaign: '',
    seed: 'AAECAwQFBgcICQoLDA0ODw',
    ...fields,
  };
}

export const variant = (label: string, weight: number): RouteVariant => ({
  label,
  weight,
  target: targetOf(label),
});

/** A program that is told apart by its number in its first and its last target, and has at least so many bytes. */
export function taggedProgram(no: number, bytes: number, timezone?: string): Uint8Array {
  const tail = { label: 'last', if: {}, then: { target: `https://t.example/last/${no}` } };
  const time = timezone === undefined ? {} : { time: { timezone } };
  const filling = Array.from({ length: Math.min(19, bytes >> 11) }, (_, at) => ({
    label: `filling-${at}`,
    if: { query: { filling: String(at) }, ...time },
    then: { target: `https://t.example/${'f'.repeat(1_900 - at)}` },
  }));
  const zoned = { label: 'zoned', if: { ...time, query: { zoned: '1' } }, then: tail.then };
  const rules = timezone === undefined ? [...filling, tail] : [...filling, zoned, tail];
  const fallbackUrl = `https://t.example/${no}/${'p'.repeat(bytes & 2_047)}`;
  return programOf({ rules, fallbackUrl, startsAtMs: no }) ?? new Uint8Array();
}

export const programOf = (fields: Partial<Routing>): Uint8Array | undefined =>
  compileLink({ target: plainTarget, shortCode: 'CODE', routing: routingOf(fields) }).program;

export function routedLink(key: string, fields: Partial<Routing>, more: Partial<Link> = {}): Link {
  const { target = plainTarget } = more;
  const compiled = compileLink({ target, shortCode: key, routing: routingOf(fields) });
  return linkOf(key, { ...more, ...compiled });
}
