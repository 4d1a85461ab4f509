/**
 * Events that an endpoint was sent, by its log and rows. They are left out where an outbox is read again from an
 * earlier position, because the stored one was damaged or another core's.
 */
import { idTimeMs } from '../../model/ids.ts';
import type { EndpointNo } from '../../model/numbers.ts';
import { type DeliveryTables, rowStates, stateCodes } from '../../store/delivery/delivery.ts';
import { logEntries } from '../deliveries/delivery-log.ts';
import { afterAll } from '../deliveries/delivery.ts';
import { findRow } from '../deliveries/delivery-transaction.ts';

/** The scans of a block span less than this, except late ones: those may be sent again. */
const blockMsMax = 60_000;

interface KnownEvents {
  readonly sinceMs: number;
  readonly ids: ReadonlySet<string>;
}

type StateKey = [endpointNo: EndpointNo, state: number, id: string];

export class SentEvents {
  readonly #tables: DeliveryTables;
  readonly #known = new Map<EndpointNo, KnownEvents>();

  constructor(tables: DeliveryTables) {
    this.#tables = tables;
  }

  /** Events from about `fromMs` on that were in log and rows when a time so early was first asked for. */
  to(endpointNo: EndpointNo, fromMs: number): ReadonlySet<string> {
    const known = this.#known.get(endpointNo);
    if (known !== undefined && known.sinceMs <= fromMs - blockMsMax) return known.ids;
    const sinceMs = fromMs - 2 * blockMsMax;
    const ids = this.#since(endpointNo, sinceMs);
    this.#known.set(endpointNo, { sinceMs, ids });
    return ids;
  }

  #since(endpointNo: EndpointNo, sinceMs: number): Set<string> {
    const { log, states } = this.#tables;
    const sent = new Set<string>();
    for (const [id, , eventIds] of logEntries(log, endpointNo)) {
      if (idTimeMs(id) < sinceMs) break;
      for (const eventId of eventIds) sent.add(eventId);
    }
    for (const code of rowStates.map((state) => stateCodes[state])) {
      const start: StateKey = [endpointNo, code, afterAll];
      const end: StateKey = [endpointNo, code, ''];
      for (const [, , id] of states.keys({ start, end, reverse: true })) {
        if (idTimeMs(id) < sinceMs) break;
        for (const eventId of findRow(this.#tables, id)?.eventIds ?? []) sent.add(eventId);
      }
    }
    return sent;
  }
}
