/**
 * Names of codes that a feed mentions by id. Ids requested within a moment share one request, at most one every two
 * seconds.
 */
import { type Signal, signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { now } from './browser-clock.ts';
import { call } from './http.ts';
import { problemOf } from './problem.ts';
import type { Page, QrCodeItem } from './wire.ts';

/** `undefined`: not loaded yet; `null`: the code was deleted. */
type Known = Pick<QrCodeItem, 'name' | 'target'> | null | undefined;

/** Ids of one request: the API's maximum. */
const idsMax = 100;
const gatherMs = 60;
const pauseMs = 2_000;
/** Names kept; a feed shows ten rows. */
const namesMax = 500;

const names = new Map<string, Signal<Known>>();
const wanted = new Set<string>();
let timer: number | undefined;
let askedMs = -pauseMs;

/** The code's name and target, as first shown. */
export function useCodeName(id: string): Known {
  const known = nameOf(id);
  useEffect(() => {
    if (id === '' || known.peek() !== undefined) return;
    wanted.add(id);
    askLater(Math.max(gatherMs, askedMs + pauseMs - now()));
  }, [id, known]);
  return known.value;
}

/** Clears the names for another user or workspace. */
export function clearCodeNames(): void {
  names.clear();
  wanted.clear();
}

function nameOf(id: string): Signal<Known> {
  const known = names.get(id) ?? signal<Known>(undefined);
  names.set(id, known);
  const [oldest] = names.keys();
  if (names.size > namesMax && oldest !== undefined) names.delete(oldest);
  return known;
}

function askLater(ms: number): void {
  timer ??= window.setTimeout(() => {
    timer = undefined;
    void ask();
  }, ms);
}

async function ask(): Promise<void> {
  const ids = [...wanted].slice(0, idsMax);
  if (ids.length === 0) return;
  askedMs = now();
  for (const id of ids) wanted.delete(id);
  try {
    const path = `/qr-codes?limit=${idsMax}&ids=${ids.join(',')}`;
    const { data } = await call<Page<QrCodeItem>>('GET', path);
    const found = new Map(data.map((code) => [code.id, code]));
    for (const id of ids) nameOf(id).value = found.get(id) ?? null;
  } catch (error) {
    const { retryAtMs } = problemOf(error);
    // On an error, the ends of the ids are shown until the page is opened again.
    if (retryAtMs === undefined) return;
    for (const id of ids) wanted.add(id);
    askLater(retryAtMs - now());
    return;
  }
  if (wanted.size > 0) askLater(pauseMs);
}
