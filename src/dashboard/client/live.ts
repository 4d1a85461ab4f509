/**
 * What happens in the workspace, as it happens: by the service's stream, or, where that is refused, by
 * asking now and then. An event is handed on once.
 */
import { useEffect, useRef, useState } from 'preact/hooks';
import { call, isScarce } from './http.ts';
import type { EventPage, ServiceEvent } from './wire.ts';

export type LiveState = 'connecting' | 'live' | 'asking';

const askMs = 5_000;
/** A small plan has 20 requests a minute for everything. */
const scarceAskMs = 20_000;
/** Ids remembered, so that an event that comes again is not told again. */
const seenMax = 500;

/**
 * Follows events while the component stands. Where the stream is refused all events are asked for, so
 * whoever wants some looks at each.
 * @param address of the stream; undefined follows nothing
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
    const tell = (event: ServiceEvent): void => {
      if (seen.has(event.id)) return;
      seen.add(event.id);
      const [oldest] = seen;
      if (seen.size > seenMax && oldest !== undefined) seen.delete(oldest);
      handler.current(event);
    };
    let stopAsking: (() => void) | undefined;
    const source = new EventSource(address);
    source.addEventListener('open', () => setState('live'));
    source.addEventListener('message', ({ data }: MessageEvent<string>) => {
      const event: ServiceEvent = JSON.parse(data);
      tell(event);
    });
    source.addEventListener('error', () => {
      // Closed: the answer was no stream. Else the browser connects again by itself, from the last id.
      if (source.readyState !== EventSource.CLOSED) {
        setState('connecting');
        return;
      }
      setState('asking');
      stopAsking ??= ask(tell);
    });
    return () => {
      source.close();
      stopAsking?.();
    };
  }, [address]);
  return state;
}

/** Reads the newest events again and again; those of the first reading are known already. @returns what ends it */
function ask(tell: (event: ServiceEvent) => void): () => void {
  let timer = 0;
  let known: ReadonlySet<string> | undefined;
  const turn = async (): Promise<void> => {
    try {
      const { data } = await call<EventPage>('GET', '/events?limit=50');
      const before = known;
      known = new Set(data.map(({ id }) => id));
      for (const event of before === undefined ? [] : data.toReversed()) {
        if (before?.has(event.id) === false) tell(event);
      }
    } catch {
      // The next turn asks again; what came meanwhile is in its answer.
    }
    timer = window.setTimeout(() => void turn(), isScarce() ? scarceAskMs : askMs);
  };
  void turn();
  return () => clearTimeout(timer);
}
