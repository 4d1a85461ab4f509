/**
 * What the API stands on: the domain rooms it calls, handed in by the wiring.
 * Rooms with threads behind them are named by the few methods the API uses, so that a test can hand in
 * its own.
 */
import type { Billing } from '../billing/billing.ts';
import type { CodeBook } from '../codes/code-book.ts';
import type { Config } from '../config.ts';
import type { Clock } from '../model/clock.ts';
import type { EventEnvelope } from '../model/event.ts';
import type { Outbox } from '../outbox/outbox.ts';
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

/** The read side of scans. Days are numbers since 1970-01-01, ranges inclusive. */
export interface ScanReport {
  lifetimeScans(codeNo: number): number;
  analytics(codeNo: number, fromDay: number, toDay: number): Analytics;
  /** Dense: every hour or day of the range. */
  timeseries(codeNo: number, fromDay: number, toDay: number, interval: Interval): TimePoint[];
  /** Descending by scans, ties by key. */
  breakdown(codeNo: number, fromDay: number, toDay: number, by: Dimension): NamedCount[];
  /** `qr.scanned`, newest first; `before` continues where a page ended. */
  events(
    workspaceNo: number,
    before: string | undefined,
    limit: number,
  ): { data: EventEnvelope[]; before?: string };
}

export interface Analytics {
  readonly totalScans: number;
  readonly uniqueScanners: number;
  readonly devices: { readonly ios: number; readonly android: number; readonly other: number };
  readonly topCountries: ReadonlyArray<{ readonly code: string; readonly scans: number }>;
}

export const intervals = ['hour', 'day'] as const;
export type Interval = (typeof intervals)[number];

export const dimensions = [
  'country',
  'city',
  'os',
  'browser',
  'device',
  'referer',
  'hour',
  'bot',
] as const;
export type Dimension = (typeof dimensions)[number];

export interface TimePoint {
  /** ISO 8601. */
  readonly start: string;
  readonly scans: number;
}

export interface NamedCount {
  readonly key: string;
  readonly scans: number;
}

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
