/** Webhooks without an application, and scans for them: what the model and the cores of a cluster have in common. */
import type { Signal } from '../../src/model/signal.ts';
import { scannedEventId } from '../../src/engine/counting/scanned-event.ts';
import { storedBlocks } from '../../src/engine/counting/stored-blocks.ts';
import { createLog } from '../../src/platform/log.ts';
import { Metrics } from '../../src/platform/metrics.ts';
import {
  openWebhooks,
  type Webhooks,
  type WebhooksOptions,
} from '../../src/webhooks/open-webhooks.ts';
import {
  EngineHarness,
  type HarnessOptions,
  type ScanInput,
  scanOf,
} from '../engine/counting/engine-harness.ts';
import type { TestClock } from '../support/fakes/test-clock.ts';
import { sourceId } from '../../src/model/ids.ts';
import { toWheelMs } from '../../src/model/wheel-time.ts';
import { type Delivery, freshDelivery } from '../../src/webhooks/deliveries/delivery.ts';

export const phone =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Mobile/15E148 Safari/604.1';

type Own = Pick<WebhooksOptions, 'cluster' | 'file' | 'ids' | 'management' | 'outbox' | 'sender'>;

export interface BareOptions extends Own {
  readonly clock: TestClock;
  readonly engine: EngineHarness;
  readonly committed: Signal;
  readonly onDelivered: (block: number) => void;
  readonly inFlightMax?: number;
  readonly deliveriesKept?: number;
}

export function openBareWebhooks(options: BareOptions): Webhooks {
  const { clock, engine, committed, onDelivered, ...own } = options;
  const { inFlightMax = 64, deliveriesKept = 100_000 } = options;
  return openWebhooks({
    ...own,
    scanned: { store: engine.store, codeOf: (no) => ({ id: `qr_${no}` }), committed, onDelivered },
    clock,
    steady: clock,
    randomBytes: (into) => into.fill(1),
    random: () => 0.5,
    cipher: { encrypt: (text) => text, decrypt: (text) => text },
    settings: {
      threads: 1,
      retryDelaysMs: [1_000, 3_000, 9_000],
      inFlightMax,
      deliveriesKept,
      timeoutMs: 1_000,
      allowNetworks: [],
      docsUrl: '',
    },
    log: createLog('silent', { write: () => undefined }),
    metrics: new Metrics((metric, cause) => {
      throw new Error(`Cannot collect ${metric}`, { cause });
    }),
  });
}

export function openBareEngine(shards: number, more: HarnessOptions = {}): EngineHarness {
  const engine = new EngineHarness({ segmentBytesMax: 10_000_000, actorsMax: 1_000, ...more });
  engine.startShards(shards);
  return engine;
}

/** @param counts scans of each code, all by a person */
export const scansBy = (counts: ReadonlyMap<number, number>): ScanInput[] =>
  [...counts].flatMap(([codeNo, count]) =>
    Array.from({ length: count }, () => scanOf(codeNo, { agent: phone })),
  );

/** Every scan in the blocks of an engine, oldest first. */
export function* scannedEntries({ store }: EngineHarness) {
  store.environment.refresh();
  for (const [sequence, block] of storedBlocks(store, {})) {
    if (block === undefined) continue;
    for (let group = 0; group < block.groups; group++) {
      const first = block.first(group);
      for (let entry = first; entry < first + block.count(group); entry++) {
        yield { sequence, entry, eventId: scannedEventId(block, entry) };
      }
    }
  }
}

/** The event with a number, of some second. */
const eventIdOf = (no: number): string => `evt_1000000000${String(no).padStart(10, '0')}`;

/** The number of a delivery's event. @param id of the delivery */
export const numberOf = (id: string): number => Number(sourceId('evt', id, 1).slice(-10));

/** A delivery as the outbox of events has it. @param no of the event */
export const deliveryOf = (no: number, dueMs = 0, bytes = 10): Delivery =>
  freshDelivery(
    {
      endpointNo: 1,
      workspaceNo: 1,
      kind: 'qr.created',
      eventIds: [eventIdOf(no)],
      body: 'x'.repeat(bytes),
    },
    { outbox: 'events', ref: [no, 0, 0, 'one'] },
    toWheelMs(dueMs),
  );
