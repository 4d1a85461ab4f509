/**
 * Converts an endpoint's block numbers that another machine of a cluster wrote to this machine's blocks, by their
 * times. The clock of that machine dates the moments, and the redirecting machines date the scans. Where these
 * differ, a scan too many is sent, never one too few.
 */
import type { EndpointPause, EndpointRecord, OutboxEnds } from '../../model/webhook.ts';

/** Clocks of a cluster differ by less than this. */
const skewMs = 2_000;

export interface BlockNumbers {
  /** The core whose numbers are written now; empty on a single machine. */
  readonly core: string;
  /** The last block whose scans are all older than `timeMs`. */
  readonly lastBefore: (timeMs: number) => number;
}

export const stampOf = (numbers: BlockNumbers | undefined): Pick<EndpointRecord, 'core'> =>
  numbers === undefined || numbers.core === '' ? {} : { core: numbers.core };

export function renumbered(
  record: EndpointRecord,
  numbers: BlockNumbers | undefined,
): EndpointRecord {
  if (numbers === undefined || (record.core ?? '') === numbers.core) return record;
  const { core, lastBefore } = numbers;
  const { batches: _of, ...rest } = record;
  /** The last block that is not sent from `atMs` on. */
  const from = (atMs: number): number => lastBefore(atMs - skewMs);
  const since = Object.entries(record.since ?? {}).map(([kind, ends]) => {
    return [kind, { ...ends, block: from(ends.atMs ?? record.createdAtMs) }] as const;
  });
  const pauses = (record.pauses ?? []).flatMap((pause): EndpointPause[] => {
    const begunMs = pause.from.atMs ?? (pause.to === undefined ? record.disabledAtMs : undefined);
    // The pause began on a single machine: its events were settled long ago.
    if (begunMs === undefined) return [];
    const begun: OutboxEnds = { ...pause.from, block: lastBefore(begunMs + skewMs) };
    if (pause.to === undefined) return [{ from: begun }];
    return [{ from: begun, to: { ...pause.to, block: from(pause.to.atMs ?? begunMs) } }];
  });
  return {
    ...rest,
    core,
    firstBlock: from(record.createdAtMs),
    ...(record.since !== undefined && { since: Object.fromEntries(since) }),
    ...(record.pauses !== undefined && { pauses }),
  };
}
