/** /watches: create, list, read, change, delete, and their incidents. The rules are in src/product/watches. */
import type { z } from 'zod';
import { invalidCursor } from '../../model/cursor.ts';
import { openIncidentsOf, type WatchRecord, type WatchSubject } from '../../model/watches/watch.ts';
import type { WatchServices } from '../../product/watches/open-watches.ts';
import type { Positions } from '../kernel/positions.ts';
import { created, deleteRoute, getRoute, postRoute, viewsOf } from '../kernel/resource.ts';
import { createRoute, jsonResult, type Route } from '../kernel/route.ts';
import {
  incidentListQuery,
  incidentPage,
  viewIncident,
  viewWatch,
  watch,
  watchBody,
  watchListQuery,
  watchPage,
  watchPatch,
} from './watch-schemas.ts';

const tag = 'Alerts';

export type WatchesApi = Pick<WatchServices, 'watches' | 'incidents' | 'subjects'>;

export interface WatchRoutesOptions extends WatchesApi {
  readonly positions: Positions;
}

export function watchRoutes(options: WatchRoutesOptions): Route[] {
  return [
    createOne(options),
    listMany(options),
    listIncidents(options),
    getOne(options),
    patchOne(options),
    deleteOne(options),
  ];
}

function createOne(options: WatchRoutesOptions): Route {
  return postRoute({
    path: '/watches',
    operationId: 'createWatch',
    access: 'editor',
    tag,
    summary: 'Create a watch',
    description:
      'Watches a code, a campaign, or the workspace if neither is given. Emits `qr.silent`, `qr.spiked`, ' +
      '`qr.target_failed` and `qr.target_recovered`, once per incident; see `/docs/alerts`.',
    body: watchBody,
    answer: { status: 201, schema: watch, what: 'The watch; Location names it' },
    make: async ({ actor, body: { qrCodeId, campaignId, target = false, ...body } }, kept) => {
      const draft = { ...body, target, subject: subjectOf(qrCodeId, campaignId) };
      return await options.watches.create(actor, draft, kept);
    },
    result: (record: WatchRecord) => created('/watches', viewOf(options, record)),
  });
}

function subjectOf(qrCodeId: string | undefined, campaignId: string | undefined): WatchSubject {
  if (qrCodeId !== undefined) return { kind: 'code', id: qrCodeId };
  return campaignId === undefined ? { kind: 'workspace' } : { kind: 'campaign', id: campaignId };
}

function listMany(options: WatchRoutesOptions): Route {
  return getRoute({
    path: '/watches',
    operationId: 'listWatches',
    access: 'viewer',
    tag,
    summary: 'List watches',
    description: 'Newest first, with their state and their open incidents.',
    query: watchListQuery,
    schema: watchPage,
    what: 'A page of watches',
    read: ({ actor: { workspaceNo }, query: { page, limit, cursor, qrCodeId, campaignId } }) => {
      const { watches } = options;
      const ids = watches.idsOf(workspaceNo, qrCodeId ?? campaignId);
      const start = cursor === undefined ? (page - 1) * limit : placeAfter(ids, cursor);
      const shown = ids.slice(start, start + limit);
      const { views, unreadable } = viewsOf(shown, (id) =>
        viewOf(options, watches.get(workspaceNo, id)),
      );
      const isMore = start + limit < ids.length;
      const nextCursor = isMore ? shown.at(-1) : undefined;
      const missing = unreadable || undefined;
      return { data: views, page, total: ids.length, limit, nextCursor, unreadable: missing };
    },
  });
}

/** @throws Failure validation_failed for a cursor of another list */
function placeAfter(ids: readonly string[], cursor: string): number {
  if (!cursor.startsWith('wch_')) throw invalidCursor();
  const at = ids.findIndex((id) => id < cursor);
  return at === -1 ? ids.length : at;
}

function listIncidents(options: WatchRoutesOptions): Route {
  return getRoute({
    path: '/watches/incidents',
    operationId: 'listIncidents',
    access: 'viewer',
    tag,
    summary: 'List incidents',
    description:
      'Newest first: the last 1,000 of the workspace, including those of deleted watches.',
    query: incidentListQuery,
    schema: incidentPage,
    what: 'A page of incidents',
    read: ({ actor: { workspaceNo }, query }) => {
      const { limit, qrCodeId, campaignId, watchId, open: isOpen } = query;
      const positions = options.positions.of(workspaceNo, 'incidents');
      const before = positions.read(query.cursor);
      const subjectId = qrCodeId ?? campaignId;
      const found = options.incidents.page(workspaceNo, { before, limit, isOpen }, (incident) => {
        const { subject } = incident;
        const isOfSubject =
          subjectId === undefined || (subject.kind !== 'workspace' && subject.id === subjectId);
        return isOfSubject && (watchId === undefined || incident.watchId === watchId);
      });
      const last = found.hasMore ? found.data.at(-1)?.id : undefined;
      return { data: found.data.map(viewIncident), limit, nextCursor: positions.write(last) };
    },
  });
}

function getOne(options: WatchRoutesOptions): Route {
  return getRoute({
    path: '/watches/:id',
    operationId: 'getWatch',
    access: 'viewer',
    tag,
    summary: 'Get a watch',
    description: 'With its state, the time of its last check, and its open incidents.',
    schema: watch,
    what: 'The watch',
    read: ({ actor, id }) => viewOf(options, options.watches.get(actor.workspaceNo, id)),
  });
}

function patchOne(options: WatchRoutesOptions): Route {
  return createRoute({
    method: 'PATCH',
    path: '/watches/:id',
    operationId: 'updateWatch',
    access: 'editor',
    tag,
    summary: 'Update a watch',
    description:
      'JSON merge patch. The watch is checked at once; an open incident of a rule that changes ends as `changed`.',
    body: watchPatch,
    answer: { status: 200, schema: watch, what: 'The watch after the change' },
    failures: ['not_found', 'storage_full'],
    handle: async ({ actor, id, body }) =>
      jsonResult(200, viewOf(options, await options.watches.change(actor, id, body))),
  });
}

function deleteOne({ watches }: WatchRoutesOptions): Route {
  return deleteRoute({
    path: '/watches/:id',
    operationId: 'deleteWatch',
    access: 'editor',
    tag,
    summary: 'Delete a watch',
    description: 'Its open incidents end as `deleted`, and stay in the list.',
    remove: async (actor, id) => await watches.delete(actor, id),
  });
}

function viewOf(
  { watches, incidents, subjects }: WatchRoutesOptions,
  record: WatchRecord,
): z.input<typeof watch> & { readonly id: string } {
  const { id, workspaceNo, subject } = record;
  const findings = watches.findingsOf(id);
  const open = openIncidentsOf(findings).flatMap((one) => incidents.find(workspaceNo, one) ?? []);
  return viewWatch(record, findings, subjects.nameOf(workspaceNo, subject), open);
}
