/**
 * The import of a file, batch by batch (product/codes/bulk/code-import.ts); operations/import/import-file.ts reads the file. A batch names
 * the row it follows, so a repeated one is refused.
 */
import { z } from 'zod';
import { type ImportDraft, reasonOf } from '../../product/codes/bulk/code-import.ts';
import { Failure } from '../../model/failure.ts';
import type { Actor } from '../../model/workspace.ts';
import type { Administration } from './administration.ts';
import { operation } from './operation.ts';
import { ownerOf, workspaceId, workspaceOf } from './people-operations.ts';

const file = {
  workspace: workspaceId,
  /** Hash of the file and its options. */
  fingerprint: z.string().min(1).max(100),
};
/** Number of finished rows. */
const after = z.int().min(0);
/** Bodies of new codes; `isReadable` is false if the client has no body. */
const rows = z.array(
  z.strictObject({
    values: z.array(z.strictObject({ isReadable: z.boolean(), body: z.unknown() })),
    lost: z.array(z.string()),
  }),
);

export const importOperations = {
  'import.open': operation('reads', z.strictObject(file), (administration, given) =>
    administration.codes.imports.record(ownerAs(administration, given), given.fingerprint),
  ),
  'import.rows': operation(
    'changes',
    z.strictObject({ ...file, after, rows }),
    async (administration, given) => {
      const actor = ownerAs(administration, given);
      const drafts = draftsOf(administration, given.rows);
      const { imports } = administration.codes;
      return await imports.batch(actor, given.fingerprint, given.after, drafts);
    },
  ),
  /** Reasons that a dry run can detect. */
  'import.check': operation(
    'reads',
    z.strictObject({ workspace: workspaceId, rows }),
    (administration, given) => {
      const actor = ownerAs(administration, given);
      const { codes } = administration;
      return draftsOf(administration, given.rows).map((row) =>
        row.codes.map((code) => {
          const failure = code instanceof Failure ? code : codes.faultOf(actor, code);
          const slug = code instanceof Failure ? undefined : code.slug;
          return failure ? reasonOf(failure, slug, (taken) => codes.holderOf(taken)) : null;
        }),
      );
    },
  ),
  'import.finish': operation(
    'changes',
    z.strictObject({ ...file, after }),
    async (administration, given) => {
      const actor = ownerAs(administration, given);
      return await administration.codes.imports.finish(actor, given.fingerprint, given.after);
    },
  ),
};

/** Codes belong to the workspace's owner. @throws Failure not_found */
function ownerAs(
  { services }: Administration,
  { workspace: id }: { readonly workspace?: string | undefined },
): Actor {
  const workspace = workspaceOf(services, id);
  return {
    userId: ownerOf(services, workspace).id,
    workspaceId: workspace.id,
    workspaceNo: workspace.no,
    role: 'owner',
  };
}

const unreadable = new Failure('validation_failed', 'Cannot read the row');

const draftsOf = (administration: Administration, given: z.output<typeof rows>): ImportDraft[] =>
  given.map(({ values, lost }) => ({
    codes: values.map(({ isReadable, body }) =>
      isReadable ? administration.draftOf(body) : unreadable,
    ),
    lost,
  }));
