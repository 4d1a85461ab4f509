/** What the control thread and a redirect thread send each other. */
import type { Config } from '../config.ts';
import type { LinkTableMemory } from '../links/layout.ts';
import type { Place } from '../scans/journal/place.ts';
import type { ErrorPageKind } from './pages.ts';
import type { TrustedProxyHeader } from './scanner-address.ts';

export interface RedirectSetup {
  /** Also the number of its journal and its place among the link table's readers. */
  readonly thread: number;
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
  /** The thread listens once this is 1: the link table is filled. */
  readonly gate: Int32Array;
  readonly unknownPerMinuteMax: number;
  readonly trustedProxies: readonly string[];
  readonly trustedProxyHeader: TrustedProxyHeader;
  readonly durability: Config['durability'];
  readonly journalRoot: Place;
  readonly journalFolder: string;
  readonly journalPosition: number;
  readonly tails: SharedArrayBuffer;
  readonly segmentBytesMax: number;
  readonly segmentMsMax: number;
  readonly backlogBytesMax: number;
}

export interface RedirectCommand {
  readonly kind: 'drain';
  /** How long open connections are waited for. */
  readonly msMax: number;
}

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
  | { readonly kind: 'listening'; readonly port: number }
  | { readonly kind: 'cannot-listen'; readonly port: number; readonly reason: string }
  | { readonly kind: 'figures'; readonly figures: RedirectFigures }
  | { readonly kind: 'stopped'; readonly figures: RedirectFigures };
