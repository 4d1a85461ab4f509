/**
 * Workspaces: plans with their limits, roles, and the actor that a request acts as.
 * The numbers of the plans are the specification's.
 */
import type { WeekStart } from './zones/calendar.ts';
import type { WorkspaceNo } from './numbers.ts';

/** From the most powerful down. */
export const roles = ['owner', 'admin', 'editor', 'viewer'] as const;
export type Role = (typeof roles)[number];

export const plans = ['free', 'starter', 'pro', 'business', 'enterprise'] as const;
export type Plan = (typeof plans)[number];

/** Requests of one workspace per UTC minute and UTC day; `perDay` undefined = no daily cap. */
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

/** Who makes a request, and where. */
export interface Actor {
  readonly userId: string;
  readonly workspaceId: string;
  readonly workspaceNo: WorkspaceNo;
  readonly role: Role;
  /** Absent for a person who is signed in. */
  readonly keyId?: string;
}

export interface WorkspaceRecord {
  readonly no: WorkspaceNo;
  readonly id: string;
  readonly name: string;
  readonly plan: Plan;
  /** Replaces the plan's limits (Enterprise). */
  readonly limits?: PlanLimits;
  /** IANA name; absent = UTC. */
  readonly timezone?: string;
  /** Absent = Monday. */
  readonly weekStart?: WeekStart;
  /** Where a zone was ever set: the first UTC day that is counted in it, and the zone of the days before. */
  readonly zoneSinceDay?: number;
  readonly zoneBefore?: string;
  readonly createdAtMs: number;
}

export interface UserRecord {
  readonly id: string;
  /** As written; looked up folded. */
  readonly email: string;
  readonly name: string;
  /** `scrypt$log2N$r$p$salt$hash`; absent for a user who cannot sign in by password. */
  readonly passwordHash?: string;
  /** False where nothing shows that the mailbox is theirs: the address is not theirs then. Absent = proven. */
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
  /** Of a rotated key, whose `expiresAtMs` is the overlap's end: when it was to expire; null = never. */
  readonly madeToEndAtMs?: number | null;
  readonly revokedAtMs?: number;
}

/** A signed-in person; stored under the hash of its secret. */
export interface SessionRecord {
  readonly userId: string;
  /** Where it works now. */
  readonly workspaceNo: WorkspaceNo;
  readonly createdAtMs: number;
}

export interface InviteRecord {
  readonly id: string;
  readonly workspaceNo: WorkspaceNo;
  readonly email: string;
  readonly role: Role;
  /** SHA-256, base64url. */
  readonly tokenHash: string;
  readonly invitedBy: string;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  readonly acceptedAtMs?: number;
  /** The token went out by mail and was shown to nobody: it proves the mailbox. */
  readonly isMailed?: true;
  /** The mail could not be sent: the next invite to the address replaces this one. */
  readonly mailFailed?: boolean;
}

/** A new address that waits for its mailed token. */
export interface EmailChangeRecord {
  readonly email: string;
  /** SHA-256, base64url. */
  readonly tokenHash: string;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
}

/** Whether `role` may do what `least` may. */
export function roleAtLeast(role: Role, least: Role): boolean {
  return roles.indexOf(role) <= roles.indexOf(least);
}

/** The less powerful of the two. */
export function lesserRole(one: Role, other: Role): Role {
  return roleAtLeast(one, other) ? other : one;
}

/** The limits that hold for a workspace now. */
export function limitsOf(workspace: WorkspaceRecord): PlanLimits {
  return workspace.limits ?? planLimits[workspace.plan];
}
