/**
 * Live events of the workspace: from the service's stream, or by polling if the stream fails. Each event is delivered
 * once.
 */
import { useEffect, useRef, useState } from 'preact/hooks';
import { now } from './browser-clock.ts';
import { call } from './http.ts';
import { problemOf } from './problem.ts';
import type { EventPage, ServiceEvent } from './wire.ts';

export type LiveState = 'connecting' | 'live' | 'polling';

const pollMs = 5_000;
/** Ids remembered to drop repeated events. */
const seenMax = 500;

/**
 * Follows events while the component is mounted. Polling returns all events of the workspace, so `onEvent`
 * must filter.
 * @param address of the stream; undefined = off
 */
export function useLive(
  onEvent: (event: ServiceEvent) => void,
  address: string | undefined,
): LiveState {
  const [state, setState] = useState<LiveState>('connecting');
  const handler = useRef(onEvent);
  handler.current = onEvent;
  useEffect(() => {
    if (address === undefined) return undefined;
    const seen = new Set<string>();
    const emit = (event: ServiceEvent): void => {
      if (seen.has(event.id)) return;
      seen.add(event.id);
      const [oldest] = seen;
      if (seen.size > seenMax && oldest !== undefined) seen.delete(oldest);
      handler.current(event);
    };
    let stopPolling: (() => void) | undefined;
    const source = new EventSource(address);
    source.addEventListener('open', () => setState('live'));
    source.addEventListener('message', ({ data }: MessageEvent<string>) => {
      const event: ServiceEvent = JSON.parse(data);
      emit(event);
    });
    source.addEventListener('error', () => {
      // Closed: the answer was not a stream. Otherwise the browser reconnects by itself, from the last id.
      if (source.readyState !== EventSource.CLOSED) {
        setState('connecting');
        return;
      }
      setState('polling');
      stopPolling ??= poll(emit);
    });
    return () => {
      source.close();
      stopPolling?.();
    };
  }, [address]);
  return state;
}

/** Polls the newest events; the first answer has old events. @returns a function that stops polling */
function poll(emit: (event: ServiceEvent) => void): () => void {
  let timer = 0;
  let known: ReadonlySet<string> | undefined;
  const next = async (): Promise<void> => {
    let waitMs = pollMs;
    try {
      const { data } = await call<EventPage>('GET', '/events?limit=50');
      const before = known;
      known = new Set(data.map(({ id }) => id));
      for (const event of before === undefined ? [] : data.toReversed()) {
        if (before?.has(event.id) === false) emit(event);
      }
    } catch (error) {
      // The next poll returns what was missed.
      waitMs = Math.max(pollMs, (problemOf(error).retryAtMs ?? 0) - now());
    }
    timer = window.setTimeout(() => void next(), waitMs);
  };
  void next();
  return () => clearTimeout(timer);
}
