/** Workspaces: plans with the limits of the specification, roles, users, keys, and the actor of a request. */
import type { WeekStart } from './zones/calendar.ts';
import type { WorkspaceNo } from './numbers.ts';

/** In order of descending rights. */
export const roles = ['owner', 'admin', 'editor', 'viewer'] as const;
export type Role = (typeof roles)[number];

export const plans = ['free', 'starter', 'pro', 'business', 'enterprise'] as const;
export type Plan = (typeof plans)[number];

/** Requests of a workspace per UTC minute and UTC day; `perDay` undefined = no daily cap. */
export interface PlanLimits {
  readonly perMinute: number;
  readonly perDay: number | undefined;
}

export const planLimits: Readonly<Record<Plan, PlanLimits>> = {
  free: { perMinute: 20, perDay: 1_000 },
  starter: { perMinute: 60, perDay: 10_000 },
  pro: { perMinute: 120, perDay: 50_000 },
  business: { perMinute: 300, perDay: 200_000 },
  enterprise: { perMinute: 600, perDay: undefined },
};

export interface Actor {
  readonly userId: string;
  readonly workspaceId: string;
  readonly workspaceNo: WorkspaceNo;
  readonly role: Role;
  /** Absent for a signed-in person. */
  readonly keyId?: string;
}

export interface WorkspaceRecord {
  readonly no: WorkspaceNo;
  readonly id: string;
  readonly name: string;
  readonly plan: Plan;
  readonly limits?: PlanLimits;
  /** IANA name; absent = UTC. */
  readonly timezone?: string;
  readonly weekStart?: WeekStart;
  /** After the time zone was set: the first UTC day that counts in it, and the zone of earlier days. */
  readonly zoneSinceDay?: number;
  readonly zoneBefore?: string;
  readonly createdAtMs: number;
}

export interface UserRecord {
  readonly id: string;
  /** As written; look-ups fold it. */
  readonly email: string;
  readonly name: string;
  /** `scrypt$log2N$r$p$salt$hash`; absent for a user without a password. */
  readonly passwordHash?: string;
  /** False = nothing proves that the mailbox belongs to the user. Absent = proven. */
  readonly mailboxProven?: false;
  readonly createdAtMs: number;
}

export interface MembershipRecord {
  readonly role: Role;
  readonly joinedAtMs: number;
}

export interface ApiKeyRecord {
  readonly id: string;
  readonly workspaceNo: WorkspaceNo;
  readonly userId: string;
  readonly name: string;
  readonly role: Role;
  readonly createdAtMs: number;
  readonly expiresAtMs?: number;
  /** The original expiry of a rotated key, whose `expiresAtMs` is the end of the overlap; null = never. */
  readonly madeToEndAtMs?: number | null;
  readonly revokedAtMs?: number;
}

/** Stored under the hash of the session's secret. */
export interface SessionRecord {
  readonly userId: string;
  readonly workspaceNo: WorkspaceNo;
  readonly createdAtMs: number;
}

export interface InviteRecord {
  readonly id: string;
  readonly workspaceNo: WorkspaceNo;
  readonly email: string;
  readonly role: Role;
  readonly tokenHash: string;
  readonly invitedBy: string;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  readonly acceptedAtMs?: number;
  /** The token was only mailed, so it proves the mailbox. */
  readonly isMailed?: true;
  /** The next invite to the address replaces this one. */
  readonly mailFailed?: boolean;
}

export interface EmailChangeRecord {
  readonly email: string;
  readonly tokenHash: string;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
}

export function roleAtLeast(role: Role, least: Role): boolean {
  return roles.indexOf(role) <= roles.indexOf(least);
}

export function lesserRole(one: Role, other: Role): Role {
  return roleAtLeast(one, other) ? other : one;
}

export function limitsOf(workspace: WorkspaceRecord): PlanLimits {
  return workspace.limits ?? planLimits[workspace.plan];
}
