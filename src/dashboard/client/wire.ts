/** The fields of the API's answers that the pages read. The OpenAPI document has all fields. */
import type { CodeStatus } from '../../model/code.ts';
import type { Design } from '../../model/design.ts';
import type { EventKind } from '../../model/event.ts';
import type { MissedReason } from '../../model/routing/labels.ts';
import type { RouteRule, RouteVariant, Utm } from '../../model/routing/routing.ts';
import type { Brand, WorkspacePages } from '../../model/routing/pages.ts';
import type { Plan, Role } from '../../model/workspace.ts';
import type { WeekStart } from '../../model/zones/calendar.ts';
import type { FieldFault } from './problem.ts';

export interface Page<T> {
  readonly data: readonly T[];
  readonly page: number;
  readonly total: number;
  readonly limit: number;
  readonly nextCursor?: string;
}

export interface TagList {
  readonly data: ReadonlyArray<{ readonly tag: string; readonly count: number }>;
}

export interface User {
  readonly id: string;
  readonly email: string;
  readonly name: string;
}

export interface Profile extends User {
  readonly emailConfirmed: boolean;
  readonly pendingEmail: string | null;
}

export interface Workspace {
  readonly id: string;
  readonly name: string;
  readonly plan: Plan;
  readonly role: Role;
  readonly createdAt: string;
  /** IANA name. */
  readonly timezone: string;
  readonly weekStart: WeekStart;
}

export interface WorkspaceDetails extends Workspace {
  readonly brand: Brand;
  readonly pages: WorkspacePages['texts'];
}

export interface Session {
  readonly user: User;
  readonly workspace: Workspace;
  readonly shortLinks: {
    readonly base: string;
    /** Phones cannot open short links. */
    readonly local: boolean;
  };
  /** The user may see a cluster; absent from an older service. */
  readonly cluster?: boolean;
  /** Date of the geo data; null without it. */
  readonly geoDate: string | null;
  readonly csrfToken?: string;
}

export interface ClusterNode {
  readonly name: string;
  readonly role: 'all' | 'core' | 'edge';
  readonly state: 'active' | 'connected' | 'away';
  readonly version: string | null;
  readonly linksBehind: number | null;
  readonly scansBehind: number | null;
  readonly atTwoCores: boolean | null;
  readonly joinedAt: string;
}

export interface Cluster {
  readonly leader: string | null;
  readonly epoch: number;
  readonly versions: string | null;
  readonly problems: ReadonlyArray<{
    readonly node: string | null;
    readonly problem: string;
    readonly remedy: string;
  }>;
  readonly nodes: readonly ClusterNode[];
}

export interface QrCodeItem {
  readonly id: string;
  readonly type: string;
  readonly target: string;
  readonly status: CodeStatus;
  readonly scans: number;
  readonly createdAt: string;
  readonly name: string | null;
  readonly dynamic: boolean;
  readonly shortUrl?: string;
  readonly imageUrl: string;
  readonly slug: string | null;
  readonly tags: readonly string[];
  readonly campaignIds: readonly string[];
  readonly expiresAt: string | null;
}

export interface QrCode extends QrCodeItem {
  readonly campaigns: ReadonlyArray<{
    readonly id: string;
    readonly name: string;
    readonly startDate: string;
    readonly endDate: string | null;
  }>;
  readonly scanLimit: number | null;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly externalId: string | null;
  readonly createdBy: string;
  readonly updatedAt: string;
  readonly design?: Design | null;
  readonly rules: readonly RouteRule[];
  readonly split: readonly RouteVariant[] | null;
  readonly utm: Utm | null;
  readonly passQuery: boolean;
  readonly startsAt: string | null;
  readonly paused: boolean;
  readonly fallbackUrl: string | null;
  /** Only in answers to a change. */
  readonly warnings?: readonly FieldFault[];
}

/** The outcome of a scan. */
export interface ResolvedRoute {
  /** Null = a page that explains the reason. */
  readonly location: string | null;
  readonly label: string;
  readonly reason: 'target' | 'rule' | 'split' | MissedReason;
  readonly variants?: ReadonlyArray<{
    readonly label: string;
    readonly location: string;
    /** Fraction of the visitors, 0 to 1. */
    readonly share: number;
  }>;
}

export interface ServiceEvent {
  readonly id: string;
  readonly event: EventKind;
  readonly createdAt?: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface EventPage {
  readonly data: readonly ServiceEvent[];
  readonly nextCursor?: string;
}
