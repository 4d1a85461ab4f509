/**
 * What the API stands on: the domain rooms it calls, handed in by the wiring.
 * Rooms with threads behind them are named by the few methods the API uses, so that a test can hand in
 * its own.
 */
import type { Billing } from '../billing/billing.ts';
import type { CodeBook } from '../codes/code-book.ts';
import type { Config } from '../config.ts';
import type { Clock } from '../model/clock.ts';
import type { Outbox } from '../outbox/outbox.ts';
import type { ScanReport as Report } from '../scans/report.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { WorkspaceServices } from '../workspaces/services.ts';

export interface ApiServices {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Logger;
  readonly codes: CodeBook;
  readonly workspaces: WorkspaceServices;
  readonly outbox: Outbox;
  readonly billing: Billing;
  /** Undefined where no mail server is configured. */
  readonly mail: InviteMail | undefined;
  readonly report: ScanReport;
  readonly images: ImageDrawing;
  readonly health: () => HealthReport;
  readonly metrics: Metrics;
}

export interface InviteMail {
  /** Takes it over: sends and retries in the background. False when too many wait. */
  send(mail: {
    readonly to: string;
    readonly workspaceName: string;
    readonly invitedBy: string;
    readonly role: string;
    readonly acceptUrl: string;
    readonly expiresAtMs: number;
    /** Called once when the last try has failed. */
    readonly onFailed: () => Promise<void>;
  }): boolean;
}

/** What the API reads of scans, without the store behind it. */
export type ScanReport = Pick<
  Report,
  'lifetimeScans' | 'analytics' | 'timeseries' | 'breakdown' | 'events'
>;

export interface ImageDrawing {
  /** @throws Failure validation_failed, overloaded */
  render(request: {
    readonly content: string;
    readonly format: 'png' | 'svg';
    readonly size: number;
  }): Promise<{ readonly bytes: Uint8Array; readonly etag: string; readonly contentType: string }>;
}

export interface HealthCheck {
  readonly name: string;
  readonly ok: boolean;
  /** Why, for an operator; never a secret or a path of a user's data. */
  readonly detail: string;
}

export interface HealthReport {
  /** Whether to send traffic here. */
  readonly ready: boolean;
  readonly checks: readonly HealthCheck[];
}
