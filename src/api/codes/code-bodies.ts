/** Bodies of codes as the product takes them. A body with faults of its schema gets those of the rules of product/codes/ too. */
import type { z } from 'zod';
import type { CodeDraft } from '../../product/codes/code-creation.ts';
import {
  type ReadRoutes,
  routeFaults,
  targetCheck,
} from '../../product/codes/routing/route-faults.ts';
import { mergePatch } from '../../product/codes/merge-patch.ts';
import { contentFaults } from '../../product/codes/rules.ts';
import { isFaults, validateTarget } from '../../product/codes/targets.ts';
import { codeTypes, type QrCodeRecord } from '../../model/code.ts';
import { Failure, type Fault } from '../../model/failure.ts';
import { withDomainFaults, check, validationFailure } from '../kernel/faults.ts';
import { type createBody, importBody } from './code-schemas.ts';

type Kind = Pick<QrCodeRecord, 'type' | 'dynamic'>;

/** The body of a new code. @param schema what a single create takes, or an import */
export function newCodeBody<S extends z.ZodType<z.output<typeof createBody>>>(
  schema: S,
  ownHosts: readonly string[],
): S {
  return withDomainFaults(schema, ({ type = 'url', dynamic = type === 'url', ...body }, faulty) =>
    faulty.has('type') ? [] : bodyFaults(body, { type, dynamic }, ownHosts),
  );
}

/** Bodies of a change, by the code: its type defines what its target may be, and only a dynamic one has routes. */
export function changeBodies<S extends z.ZodType<object>>(
  schema: S,
  ownHosts: readonly string[],
): (code: Kind | undefined) => S | undefined {
  const bodyOf = (kind: Kind): S =>
    withDomainFaults(schema, (body) => bodyFaults(body, kind, ownHosts));
  const dynamicBody = bodyOf({ type: 'url', dynamic: true });
  const staticBodies = new Map(codeTypes.map((type) => [type, bodyOf({ type, dynamic: false })]));
  return (code) => (code?.dynamic === true ? dynamicBody : code && staticBodies.get(code.type));
}

type ReadBody = ReadRoutes &
  Partial<Pick<CodeDraft, 'target' | 'slug' | 'expiresAtMs' | 'scanLimit'>>;

/** Faults by the rules that need no store: neither the campaign's name nor what the code already has. */
function bodyFaults(body: object, { type, dynamic }: Kind, ownHosts: readonly string[]): Fault[] {
  // Without the nulls of a change.
  const fields = mergePatch<ReadBody>({}, fieldsOf(body));
  const { target, slug = '', expiresAtMs } = fields;
  const checked = target === undefined ? [] : validateTarget(type, target, ownHosts);
  return [
    ...(isFaults(checked) ? checked : []),
    ...contentFaults({ ...fields, type, dynamic, metadata: {} }),
    ...routeFaults(fields, { dynamic, slug, campaign: '', expiresAtMs }, targetCheck(ownHosts)),
  ];
}

/** A row of many as a draft, or its faults. */
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

/** A checked body under the names of the product. */
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
