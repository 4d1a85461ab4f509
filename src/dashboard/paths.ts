/**
 * Every address of the dashboard: the browser's router matches them, and the service serves the page there. `:name` is
 * one segment.
 */
export const paths = {
  overview: '/',
  signIn: '/sign-in',
  analytics: '/analytics',
  codes: '/codes',
  newCode: '/codes/new',
  importCodes: '/codes/import',
  code: '/codes/:id',
  campaigns: '/campaigns',
  newCampaign: '/campaigns/new',
  campaign: '/campaigns/:id',
  team: '/team',
  billing: '/billing',
  checkout: '/billing/checkout/:id',
  profile: '/settings/profile',
  confirmEmail: '/settings/confirm-email',
  workspace: '/settings/workspace',
  pages: '/settings/pages',
  apiKeys: '/settings/api-keys',
  webhooks: '/settings/webhooks',
  webhook: '/settings/webhooks/:id',
  deadLetters: '/settings/webhooks/dead-letters',
  delivery: '/settings/deliveries/:id',
  alerts: '/settings/alerts',
  retention: '/settings/data',
  cluster: '/settings/cluster',
  acceptInvite: '/accept-invite',
} as const;

export type PathName = keyof typeof paths;

export interface PathMatch {
  readonly name: PathName;
  readonly params: Readonly<Record<string, string>>;
}

const patterns = Object.keys(paths)
  .filter((key): key is PathName => key in paths)
  .map((name) => ({ name, segments: paths[name].split('/') }))
  // Literal segments win over `:id`, whatever their order in the table.
  .sort((a, b) => countParams(a.segments) - countParams(b.segments));

/** The page at a path, or undefined. A trailing slash is ignored. */
export function matchPath(path: string): PathMatch | undefined {
  const given = (path.length > 1 ? path.replace(/\/$/, '') : path).split('/');
  for (const { name, segments } of patterns) {
    const params = matchSegments(segments, given);
    if (params !== undefined) return { name, params };
  }
  return undefined;
}

/** Whether the dashboard has a page at a path. */
export const isPage = (path: string): boolean => matchPath(path) !== undefined;

function matchSegments(
  pattern: readonly string[],
  given: readonly string[],
): Record<string, string> | undefined {
  if (pattern.length !== given.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, segment] of pattern.entries()) {
    const value = given[index] ?? '';
    if (!segment.startsWith(':')) {
      if (segment !== value) return undefined;
      continue;
    }
    // Ids have letters, digits and `_` only.
    if (!/^\w{1,64}$/.test(value)) return undefined;
    params[segment.slice(1)] = value;
  }
  return params;
}

function countParams(segments: readonly string[]): number {
  return segments.filter((segment) => segment.startsWith(':')).length;
}

/** The address of a page. */
export function pathTo(name: PathName, params: Readonly<Record<string, string>> = {}): string {
  return paths[name].replace(/:(\w+)/g, (_whole, key: string) => params[key] ?? '');
}
