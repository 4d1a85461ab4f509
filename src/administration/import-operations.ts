/**
 * The import of a file, batch by batch (codes/bulk/code-import.ts); cli/import/import-file.ts reads the file. A batch names
 * the row it follows, so a repeated one is refused.
 */
import { z } from 'zod';
import { type CodeImport, type ImportDraft, reasonOf } from '../codes/bulk/code-import.ts';
import { Failure } from '../model/failure.ts';
import type { Administration } from './administration.ts';
import { operation } from './operation.ts';
import { ownerOf, workspaceId, workspaceOf } from './people-operations.ts';

const file = {
  workspace: workspaceId,
  /** Of the file and its options. */
  fingerprint: z.string().min(1).max(100),
};
/** Rows that are done. */
const after = z.int().min(0);
/** Bodies of new codes; `isReadable` is false if the client has no body. */
const rows = z.array(
  z.strictObject({
    values: z.array(z.strictObject({ isReadable: z.boolean(), body: z.unknown() })),
    lost: z.array(z.string()),
  }),
);
type Rows = z.output<typeof rows>;

export const importOperations = {
  'import.open': operation(
    'reads',
    z.strictObject(file),
    (administration, given) => openImport(administration, given).record,
  ),
  'import.rows': operation(
    'changes',
    z.strictObject({ ...file, after, rows }),
    async (administration, given) => {
      const run = openImport(administration, given, given.after);
      const drafts = given.rows.map((row) => draftOf(administration, row));
      await run.batch(drafts, (slug) => administration.codes.holderOf(slug));
      return run.record;
    },
  ),
  /** The reasons of a dry run, as far as they can be known. */
  'import.check': operation('reads', z.strictObject({ rows }), (administration, given) =>
    given.rows.map((row) =>
      draftOf(administration, row).codes.map((code) => {
        const { codes } = administration;
        const failure = code instanceof Failure ? code : codes.faultOf(code);
        const slug = code instanceof Failure ? undefined : code.slug;
        return failure ? reasonOf(failure, slug, (taken) => codes.holderOf(taken)) : null;
      }),
    ),
  ),
  'import.finish': operation(
    'changes',
    z.strictObject({ ...file, after }),
    async (administration, given) => {
      const run = openImport(administration, given, given.after);
      await run.finish();
      return run.record;
    },
  ),
};

/** Codes belong to the workspace's owner. @throws Failure not_found; conflict if another run has imported rows meanwhile */
function openImport(
  { services, codes }: Administration,
  { workspace: id, fingerprint }: { readonly workspace?: string | undefined; fingerprint: string },
  rowsDone?: number,
): CodeImport {
  const workspace = workspaceOf(services, id);
  const actor = {
    userId: ownerOf(services, workspace).id,
    workspaceId: workspace.id,
    workspaceNo: workspace.no,
    role: 'owner',
  } as const;
  return codes.openImport(actor, fingerprint, rowsDone);
}

const unreadable = new Failure('validation_failed', 'The row cannot be read');

const draftOf = (administration: Administration, { values, lost }: Rows[number]): ImportDraft => ({
  codes: values.map(({ isReadable, body }) =>
    isReadable ? administration.draftOf(body) : unreadable,
  ),
  lost,
});
