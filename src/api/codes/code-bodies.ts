/**
 * Bodies of codes as the domain takes them. Where the schema finds faults, the rules of codes/ are asked for
 * theirs, so that all come at once; a body without faults is left to codes/, which has the same rules.
 */
import { z } from 'zod';
import type { CodeDraft } from '../../codes/code-creation.ts';
import { contentFaults } from '../../codes/rules.ts';
import { isFaults, validateTarget } from '../../codes/targets.ts';
import { type CodeType, codeTypes } from '../../model/code.ts';
import { Failure, type Fault } from '../../model/failure.ts';
import { alsoFinding, check, validationFailure } from '../faults.ts';
import { type createBody, importBody } from './code-schemas.ts';

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
    return [...targetFaults(type, target, ownHosts), ...contentFaults(content)];
  });
}

/** Bodies of a change, by the code's type: it says what its target may be. */
export function changeBodies<S extends z.ZodType>(
  schema: S,
  ownHosts: readonly string[],
): ReadonlyMap<CodeType | undefined, S> {
  const bodyOf = (type: CodeType): S =>
    alsoFinding(schema, (body) => {
      const fields = ruledFields.safeParse(body);
      return targetFaults(type, fields.data?.target, ownHosts);
    });
  return new Map(codeTypes.map((type) => [type, bodyOf(type)]));
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
export function fieldsOf<B extends { readonly expiresAt?: number | null | undefined }>({
  expiresAt,
  ...rest
}: B): Omit<B, 'expiresAt'> & { readonly expiresAtMs: B['expiresAt'] } {
  return { ...rest, expiresAtMs: expiresAt };
}
