/**
 * /workspaces/:id: the name of a workspace, and the texts of the pages that its codes show when they lead nowhere. A change
 * is a merge patch. A logo is drawn before it is stored, so that redirect threads and edges need no file.
 */
import { z } from 'zod';
import { mergePatch } from '../../product/codes/merge-patch.ts';
import { previewPage } from '../../engine/redirect/pages.ts';
import type { Logos } from '../../product/images/logo/logos.ts';
import { Failure, invalid, notFound } from '../../model/failure.ts';
import { weekStarts } from '../../model/zones/calendar.ts';
import {
  type Brand,
  endedReasons,
  pageLanguagesMax,
  type WorkspacePages,
} from '../../model/routing/pages.ts';
import type { Actor, WorkspaceRecord } from '../../model/workspace.ts';
import type { Workspaces } from '../../product/workspaces/workspaces.ts';
import { validationFailure } from '../kernel/faults.ts';
import { timeZone } from '../codes/time-zone.ts';
import { withLogoBodyLimit } from '../images/logo-body-limit.ts';
import { readDataUrl } from '../../product/images/design/design.ts';
import { getRoute } from '../kernel/resource.ts';
import { createRoute, jsonResult, type Route } from '../kernel/route.ts';
import {
  type BrandPatch,
  pageFields,
  type PageTextsPatch,
  previewAnswer,
  previewBody,
  shownPages,
} from './page-schemas.ts';
import { name, viewWorkspace, workspace } from './people.ts';

const changeBody = z
  .strictObject({
    name: name.optional().meta({ description: 'What people call it', example: 'Second shop' }),
    timezone: timeZone.optional().meta({
      description: 'Time zone of its days in analytics; holds from the next UTC day on',
      example: 'Europe/Berlin',
    }),
    weekStart: z
      .enum(weekStarts)
      .optional()
      .meta({ description: 'First day of its weeks', example: 'mon' }),
    ...pageFields,
  })
  .meta({ id: 'WorkspaceChange' });

const details = z.object({ ...workspace.shape, ...shownPages }).meta({ id: 'WorkspaceDetails' });

const tag = 'Workspaces';

interface Change {
  readonly brand?: BrandPatch | null | undefined;
  readonly pages?: PageTextsPatch | null | undefined;
}

/** @param brand the installation's */
export function workspacePageRoutes(workspaces: Workspaces, logos: Logos, brand: Brand): Route[] {
  const at = { workspaces, logos };
  return [
    getOne(at),
    withLogoBodyLimit(patchOne(at), 'brand'),
    withLogoBodyLimit(previewOne(at, brand), 'brand'),
  ];
}

interface Modules {
  readonly workspaces: Workspaces;
  readonly logos: Logos;
}

const getOne = ({ workspaces }: Modules): Route =>
  getRoute({
    path: '/workspaces/:id',
    operationId: 'getWorkspace',
    access: 'viewer',
    tag,
    summary: 'Get a workspace',
    description: 'The one you are in, with its brand and the texts of its pages.',
    schema: details,
    what: 'The workspace',
    read: ({ actor, id }) => {
      assertOwn(actor, id);
      return view(workspaces.get(actor.workspaceNo), actor, workspaces);
    },
  });

const patchOne = (modules: Modules): Route =>
  createRoute({
    method: 'PATCH',
    path: '/workspaces/:id',
    operationId: 'updateWorkspace',
    access: 'admin',
    tag,
    summary: 'Change a workspace',
    description:
      'The one you are in: its name, time zone, brand, and the texts of its pages. A merge patch: absent fields stay, ' +
      'null removes one. Pages show the change within a second.',
    body: changeBody,
    answer: { status: 200, schema: details, what: 'The workspace' },
    failures: ['not_found', 'storage_full'],
    handle: async ({ actor, id, body }) => {
      assertOwn(actor, id);
      const { workspaces } = modules;
      const isPages = body.brand !== undefined || body.pages !== undefined;
      const change = await drawn(actor, body, modules);
      const changed = await workspaces.change(
        actor.workspaceNo,
        body,
        isPages ? (now) => merged(now, change) : undefined,
      );
      return jsonResult(200, view(changed, actor, workspaces));
    },
  });

const previewOne = (modules: Modules, installation: Brand): Route =>
  createRoute({
    method: 'POST',
    path: '/workspaces/:id/page-preview',
    operationId: 'previewPage',
    access: 'admin',
    tag,
    summary: 'Preview a page',
    description:
      'Shows the answer that a scan would get after a change, without making the change.',
    body: previewBody,
    isRepeatable: true,
    answer: { status: 200, schema: previewAnswer, what: 'The page' },
    failures: ['not_found'],
    handle: async ({ actor, id, body }) => {
      assertOwn(actor, id);
      const now = modules.workspaces.pagesOf(actor.workspaceNo);
      const pages = merged(now, await drawn(actor, body, modules));
      const { language, html } = previewPage(body.reason, pages, body.language, installation);
      return jsonResult(200, { language, html });
    },
  });

function view(record: WorkspaceRecord, actor: Actor, workspaces: Workspaces) {
  const { brand, texts } = workspaces.pagesOf(actor.workspaceNo);
  return { ...viewWorkspace(record, actor.role), brand, pages: texts };
}

/** Draws the logo of a change for pages. @throws Failure validation_failed, overloaded */
async function drawn(
  { workspaceNo }: Actor,
  change: Change,
  { workspaces, logos }: Modules,
): Promise<Change> {
  const logo = change.brand?.logo;
  if (typeof logo !== 'string') return change;
  const stored = workspaces.pagesOf(workspaceNo).brand.logo;
  return { ...change, brand: { ...change.brand, logo: await drawLogo(logo, stored, logos) } };
}

/** @throws Failure not_found */
function assertOwn(actor: Actor, id: string): void {
  if (id !== actor.workspaceId) throw notFound('workspace');
}

/** @param stored the present logo, which is drawn already @throws Failure validation_failed, overloaded */
async function drawLogo(given: string, stored: string | undefined, logos: Logos): Promise<string> {
  if (given === stored) return given;
  if (given.startsWith('data:image/webp;')) {
    throw invalid('brand.logo', 'not_allowed', 'Expected a PNG, JPEG or SVG, or what is stored');
  }
  const { bytes, mediaType } = readDataUrl(given);
  try {
    return await logos.drawForBrand(bytes, mediaType);
  } catch (error) {
    if (!(error instanceof Failure) || error.faults.length === 0) throw error;
    const faults = error.faults.map((fault) => ({ ...fault, path: 'brand.logo' }));
    throw new Failure(error.code, error.message, { faults });
  }
}

/** @throws Failure validation_failed if a reason gets too many languages */
function merged(now: WorkspacePages, { brand, pages }: Change): WorkspacePages {
  const all = pages === null ? {} : mergePatch(now.texts, pages ?? {});
  const texts: WorkspacePages['texts'] = Object.fromEntries(
    Object.entries(all).filter(([, languages]) => Object.keys(languages).length > 0),
  );
  const faults = endedReasons.flatMap((reason) => {
    const { length } = Object.keys(texts[reason] ?? {});
    if (length <= pageLanguagesMax) return [];
    const message = `Expected at most ${pageLanguagesMax} languages, it would have ${length}`;
    return [{ path: `pages.${reason}`, code: 'too_big', message }];
  });
  if (faults.length > 0) throw validationFailure(faults, 'body');
  return { brand: brand === null ? {} : mergePatch(now.brand, brand ?? {}), texts };
}
