/**
 * An endpoint's block numbers, where another machine of a cluster has written them: the same moments in numbers of the
 * blocks that are here. Moments are told by the clock of that machine, scans by those of the machines that redirected: where
 * they differ, a scan too many is sent, and none too few.
 */
import type { EndpointPause, EndpointRecord, OutboxEnds } from '../../model/webhook.ts';

/** Clocks of a cluster differ by less. */
const skewMs = 2_000;

export interface BlockNumbers {
  /** Whose numbers are written now; empty = of the only machine. */
  readonly core: string;
  /** The last block whose scans are all older. */
  readonly lastBefore: (timeMs: number) => number;
}

/** What a record that is written here has. */
export const stampOf = (numbers: BlockNumbers | undefined): Pick<EndpointRecord, 'core'> =>
  numbers === undefined || numbers.core === '' ? {} : { core: numbers.core };

export function renumbered(
  record: EndpointRecord,
  numbers: BlockNumbers | undefined,
): EndpointRecord {
  if (numbers === undefined || (record.core ?? '') === numbers.core) return record;
  const { core, lastBefore } = numbers;
  const { batches: _of, ...rest } = record;
  /** Of what is sent from a moment on: the last block that is not. */
  const from = (atMs: number): number => lastBefore(atMs - skewMs);
  const since = Object.entries(record.since ?? {}).map(([kind, ends]) => {
    return [kind, { ...ends, block: from(ends.atMs ?? record.createdAtMs) }] as const;
  });
  const pauses = (record.pauses ?? []).flatMap((pause): EndpointPause[] => {
    const begunMs = pause.from.atMs ?? (pause.to === undefined ? record.disabledAtMs : undefined);
    // Begun by an earlier release: what came meanwhile was settled long ago.
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
