/** What an edge answers to `quietzone cluster status`. */
import type { HealthReport } from '../../../platform/health.ts';
import type { EdgeParts } from './edge-metrics.ts';

export interface EdgeStatus {
  readonly node: string;
  readonly role: 'edge';
  readonly isReady: boolean;
  /** Short codes that it redirects. */
  readonly links: number;
  /** Changes that a core has reported and that are not in the link table. */
  readonly linksBehind: number;
  /** Since a core was last in contact; null = never. */
  readonly contactSeconds: number | null;
  readonly problems: readonly string[];
}

export function edgeStatusOf(
  node: string,
  { replica, writer }: Pick<EdgeParts, 'replica' | 'writer'>,
  { ready, checks }: HealthReport,
): EdgeStatus {
  return {
    node,
    role: 'edge',
    isReady: ready,
    links: writer.count,
    linksBehind: replica.behind,
    contactSeconds: replica.contactSeconds,
    problems: checks.flatMap(({ ok, detail }) => (ok ? [] : [detail])),
  };
}
