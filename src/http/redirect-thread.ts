/** What the control thread and a redirect thread send each other. */
import type { Config } from '../config.ts';
import type { LinkTableMemory } from '../links/layout.ts';
import type { Place } from '../scans/journal/place.ts';
import type { Brand } from '../model/routing/pages.ts';
import type { OpenTable } from '../scans/visitor/geo/table-units.ts';
import type { ErrorPageKind } from './pages/language-words.ts';
import type { PageChanges } from './pages/packed-pages.ts';
import type { TrustedProxyHeader } from './scanner-address.ts';

/**
 * Word 0 of the memory that all redirect threads see.
 *
 *   wait        threads that start do not listen until the link table is filled
 *   open        they listen
 *   handedOver  another process has the scans that limited links have left, and listens or will: threads that start do
 *               not listen, and a limited link with nothing left sends its client back to where it came (refusals.ts)
 */
export const gate = { wait: 0, open: 1, handedOver: 2 } as const;

export interface RedirectSetup {
  /** Its place among the link table's readers. */
  readonly thread: number;
  /** The number of its journal: another process that journals at the same time has other ones. */
  readonly journal: number;
  readonly host: string;
  readonly port: number;
  readonly tlsCertFile: string;
  readonly tlsKeyFile: string;
  /** The same without TLS, beside it; 0 = none. */
  readonly httpPort: number;
  /** On both ports together. */
  readonly connectionsMax: number;
  readonly links: LinkTableMemory;
  readonly misses: SharedArrayBuffer;
  readonly missSeed: number;
  readonly gate: Int32Array;
  readonly unknownPerMinuteMax: number;
  /** Where `/` leads; empty = to the page of an unknown code. */
  readonly rootUrl: string;
  /** The installation's. */
  readonly brand: Brand;
  /** Of the workspaces that have any. */
  readonly pages: PageChanges;
  readonly trustedProxies: readonly string[];
  readonly trustedProxyHeader: TrustedProxyHeader;
  readonly durability: Config['durability'];
  /** Of countries, for rules; undefined until it is there. */
  readonly geo: OpenTable | undefined;
  readonly journalRoot: Place;
  readonly journalFolder: string;
  readonly journalPosition: number;
  readonly tails: SharedArrayBuffer;
  readonly segmentBytesMax: number;
  readonly segmentMsMax: number;
  readonly backlogBytesMax: number;
}

/**
 *   drain      stop listening, wait for open connections as long as `msMax`, end
 *   hand-over  stop listening and wait as above, but stay; `handed-over` is sent when nothing more is journaled
 *   resume     listen again
 *   geo        rules may ask for countries from here on
 *   pages      what workspaces say on their pages has changed
 */
export type RedirectCommand =
  | { readonly kind: 'geo'; readonly table: OpenTable }
  | { readonly kind: 'drain' | 'hand-over'; readonly msMax: number }
  | { readonly kind: 'resume' }
  | { readonly kind: 'pages'; readonly changes: PageChanges };

/** Answers that were no redirect, by kind: none yet. */
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
  /** Connections closed for want of descriptors. */
  readonly shed: number;
  /** Scans answered that wait in memory for a journal that cannot be written. */
  readonly waitingScans: number;
  /** Scans answered and given up. */
  readonly droppedScans: number;
  readonly journalPosition: number;
  readonly journalFault: string | undefined;
  /** Counts of the latencies since the last message. */
  readonly latency: Float64Array;
}

export type RedirectMessage =
  /** It waits at the gate. */
  | { readonly kind: 'booted' }
  | { readonly kind: 'listening'; readonly port: number }
  | { readonly kind: 'cannot-listen'; readonly port: number; readonly reason: string }
  /** Nothing is open any more, or all has been waited for. */
  | { readonly kind: 'handed-over' }
  | { readonly kind: 'figures'; readonly figures: RedirectFigures }
  | { readonly kind: 'stopped'; readonly figures: RedirectFigures };
