/** What the control thread and a redirect thread share: messages and a gate. */
import type { Config } from '../../platform/config/config.ts';
import type { LinkTableMemory } from '../links/layout.ts';
import type { FileIdentity } from '../journal/file-identity.ts';
import type { Brand } from '../../model/routing/pages.ts';
import type { GeoData } from '../visitor/geo/geo.ts';
import type { ErrorPageKind, PageChanges } from './pages.ts';

/** Word 0 of a memory that all redirect threads share. A new thread waits until the link table is filled, listens, or does not. */
export const gate = { wait: 0, open: 1, closed: 2 } as const;

export interface RedirectSetup {
  /** Its reader index in the link table. */
  readonly thread: number;
  /** Number of its journal, unique among all processes that journal at the same time. */
  readonly journal: number;
  readonly host: string;
  readonly port: number;
  readonly tlsCertFile: string;
  readonly tlsKeyFile: string;
  /** An additional port without TLS; 0 = none. */
  readonly httpPort: number;
  readonly connectionsMax: number;
  readonly links: LinkTableMemory;
  readonly misses: SharedArrayBuffer;
  readonly missSeed: number;
  readonly gate: Int32Array;
  /** Target of `/`; empty = the page of an unknown code. */
  readonly rootUrl: string;
  readonly brand: Brand;
  readonly pages: PageChanges;
  readonly trustedProxies: readonly string[];
  readonly durability: Config['durability'];
  readonly geo: GeoData;
  readonly journalRoot: FileIdentity;
  readonly journalFolder: string;
  readonly journalPosition: number;
  readonly tails: SharedArrayBuffer;
  readonly segmentMsMax: number;
  readonly backlogBytesMax: number;
}

/**
 * Both stop listening. `drain` waits for open connections and ends the thread; after `hand-over` the thread journals nothing
 * more, and sends each client to a new connection, which another process answers.
 */
export type RedirectCommand =
  | { readonly kind: 'drain'; readonly msMax: number }
  | { readonly kind: 'hand-over' }
  | { readonly kind: 'pages'; readonly changes: PageChanges };

export const noRefusals = (): Record<ErrorPageKind, number> => ({
  unknown: 0,
  deleted: 0,
  paused: 0,
  not_started: 0,
  expired: 0,
  used_up: 0,
  damaged: 0,
  throttled: 0,
  method: 0,
});

export interface RedirectFigures {
  readonly redirects: number;
  readonly refused: Readonly<Record<ErrorPageKind, number>>;
  readonly connections: number;
  readonly shed: number;
  /** Answered scans in memory, while the journal cannot be written. */
  readonly waitingScans: number;
  readonly droppedScans: number;
  readonly journalPosition: number;
  readonly journalFault: string | undefined;
  /** Latency counts since the last message. */
  readonly latency: Float64Array;
}

export type RedirectMessage =
  | { readonly kind: 'booted' }
  | { readonly kind: 'listening'; readonly port: number }
  | { readonly kind: 'cannot-listen'; readonly port: number; readonly reason: string }
  /** Nothing is journaled any more. */
  | { readonly kind: 'handed-over' }
  | { readonly kind: 'figures'; readonly figures: RedirectFigures }
  | { readonly kind: 'stopped'; readonly figures: RedirectFigures };
