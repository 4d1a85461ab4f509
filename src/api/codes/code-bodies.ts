/**
 * Bodies of codes as the domain takes them. Where the schema finds faults, the rules of codes/ are asked for
 * theirs, so that all come at once; a body without faults is left to codes/, which has the same rules.
 */
import { z } from 'zod';
import type { CodeDraft } from '../../codes/code-creation.ts';
import { routeFaults, targetCheck } from '../../codes/routing/route-faults.ts';
import { contentFaults } from '../../codes/rules.ts';
import { isFaults, validateTarget } from '../../codes/targets.ts';
import { type CodeType, codeTypes, type QrCodeRecord } from '../../model/code.ts';
import { Failure, type Fault } from '../../model/failure.ts';
import { alsoFinding, check, validationFailure } from '../faults.ts';
import { type createBody, importBody } from './code-schemas.ts';
import { readRouting } from './readable-routing.ts';

/** What the rules go by; a field that is not of its kind is the schema's fault alone. */
const ruledFields = z.object({
  type: z.enum(codeTypes).default('url'),
  target: z.string().optional().catch(undefined),
  dynamic: z.boolean().optional().catch(undefined),
  slug: z.string().nullish().catch(undefined),
});

/** The body of a new code. @param schema what a single create takes, or an import */
export function newCodeBody<S extends z.ZodType>(schema: S, ownHosts: readonly string[]): S {
  return alsoFinding(schema, (body) => {
    const fields = ruledFields.safeParse(body);
    if (!fields.success) return [];
    const { type, target, dynamic = type === 'url', slug } = fields.data;
    const content = { type, dynamic, slug: slug ?? undefined, metadata: {} };
    return [
      ...targetFaults(type, target, ownHosts),
      ...contentFaults(content),
      ...routesFaults(body, { dynamic, slug: slug ?? '' }, ownHosts),
    ];
  });
}

type Kind = Pick<QrCodeRecord, 'type' | 'dynamic'>;

/** Bodies of a change, by the code: its type says what its target may be, and only a dynamic one has routes. */
export function changeBodies<S extends z.ZodType>(
  schema: S,
  ownHosts: readonly string[],
): (code: Kind | undefined) => S | undefined {
  const bodyOf = ({ type, dynamic }: Kind): S =>
    alsoFinding(schema, (body) => {
      const fields = ruledFields.safeParse(body);
      return [
        ...targetFaults(type, fields.data?.target, ownHosts),
        ...routesFaults(body, { dynamic, slug: '' }, ownHosts),
      ];
    });
  const dynamicBody = bodyOf({ type: 'url', dynamic: true });
  const staticBodies = new Map(codeTypes.map((type) => [type, bodyOf({ type, dynamic: false })]));
  return (code) => (code?.dynamic === true ? dynamicBody : code && staticBodies.get(code.type));
}

/** Without what only the store knows: the name of the campaign, and what a code has that is changed. */
function routesFaults(
  body: unknown,
  code: { readonly dynamic: boolean; readonly slug: string },
  ownHosts: readonly string[],
): Fault[] {
  const { routes, expiresAtMs } = readRouting(body);
  const about = { ...code, campaign: '', expiresAtMs };
  return routeFaults(routes, about, targetCheck(ownHosts));
}

function targetFaults(
  type: CodeType,
  target: string | undefined,
  ownHosts: readonly string[],
): readonly Fault[] {
  const checked = target === undefined ? [] : validateTarget(type, target, ownHosts);
  return isFaults(checked) ? checked : [];
}

/** A row of many as a draft, or what is wrong with it. */
export function rowDraft(
  schema: z.ZodType<z.output<typeof createBody>>,
  row: unknown,
): CodeDraft | Failure {
  if (row instanceof Failure) return row;
  const checked = check(schema, row);
  return checked.ok ? fieldsOf(checked.value) : validationFailure(checked.faults, 'row');
}

/** How an import reads its rows. */
export function importedDrafts(shortUrlBase: string): (row: unknown) => CodeDraft | Failure {
  const schema = newCodeBody(importBody, [new URL(shortUrlBase).host]);
  return (row) => rowDraft(schema, row);
}

/** A checked body under the domain's names. */
export function fieldsOf<B extends Times>({
  expiresAt,
  startsAt,
  ...rest
}: B): Omit<B, keyof Times> & {
  readonly expiresAtMs: B['expiresAt'];
  readonly startsAtMs: B['startsAt'];
} {
  return { ...rest, expiresAtMs: expiresAt, startsAtMs: startsAt };
}

interface Times {
  readonly expiresAt?: number | null | undefined;
  readonly startsAt?: number | null | undefined;
}
