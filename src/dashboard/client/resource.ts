/**
 * A cache of API answers by path: shown at once when a page returns to it, reloaded when old, invalidated when a change
 * may affect it. A path loads at most once in a few seconds. A request refused by a limit is repeated when the limit's
 * window ends; a request that no component waits for is canceled.
 */
import { type Signal, signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { now } from './browser-clock.ts';
import { call } from './http.ts';
import { type Problem, problemOf } from './problem.ts';

/** A younger answer is not reloaded, unless a change made here invalidates it. */
const freshMs = 8_000;
/** Answers kept: a session of browsing, a few megabytes at most. */
const entriesMax = 120;

interface Entry {
  readonly data: Signal<unknown>;
  readonly problem: Signal<Problem | undefined>;
  readonly isLoading: Signal<boolean>;
  loadedMs: number;
  /** The running request, and its cancellation. */
  reading: Promise<void> | undefined;
  controller: AbortController | undefined;
  /** Number of mounted components that show it. */
  users: number;
  retry: number | undefined;
}

const entries = new Map<string, Entry>();
/** Counts invalidations: mounted components then reload. */
const generation = signal(0);

export interface Resource<T> {
  /** The path's answer; during the first load, that of the same path with another query. */
  readonly data: T | undefined;
  /** `data` is of another query. */
  readonly isStale: boolean;
  readonly problem: Problem | undefined;
  readonly isLoading: boolean;
  readonly reload: () => Promise<void>;
}

/** Loads `path` while the component is mounted; undefined = nothing. */
export function useResource<T>(path: string | undefined): Resource<T> {
  const before = useRef<{ path: string; data: T } | undefined>(undefined);
  const entry = path === undefined ? undefined : entryOf(path);
  const current = generation.value;
  useEffect(() => (path === undefined ? undefined : use(path)), [path]);
  useEffect(() => {
    if (path !== undefined) void readIfOld(path);
  }, [path, current]);
  // The caller knows the type of the path's answer, as with `response.json()`.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const data = entry?.data.value as T | undefined;
  if (path !== undefined && data !== undefined) before.current = { path, data };
  const isSameList = path?.split('?')[0] === before.current?.path.split('?')[0];
  const shown = data ?? (isSameList ? before.current?.data : undefined);
  return {
    data: path === undefined ? undefined : shown,
    isStale: data === undefined && shown !== undefined,
    problem: entry?.problem.value,
    isLoading: entry?.isLoading.value ?? false,
    reload: async () => {
      if (path !== undefined) await read(path);
    },
  };
}

const pollMs = 2_000;
/** About two minutes: after that the user must refresh. */
const pollsMax = 60;

/** Reloads at intervals while a task runs and the page is visible. */
export function usePolling(
  isUnderWay: boolean,
  resource: Pick<Resource<unknown>, 'reload' | 'problem'>,
): void {
  const polls = useRef(0);
  const latest = useRef(resource);
  latest.current = resource;
  useEffect(() => {
    if (!isUnderWay) return undefined;
    polls.current = 0;
    const poll = (): void => {
      const { reload, problem } = latest.current;
      // A request refused by a limit is repeated when the window ends.
      if (document.visibilityState === 'hidden' || problem?.retryAtMs !== undefined) return;
      polls.current += 1;
      if (polls.current > pollsMax) clearInterval(timer);
      else void reload();
    };
    const timer = setInterval(poll, pollMs);
    return () => clearInterval(timer);
  }, [isUnderWay]);
}

/** Reloads at intervals as long as the component is mounted and the page is visible. */
export function useRefresh(
  everyMs: number,
  resource: Pick<Resource<unknown>, 'reload' | 'problem' | 'isLoading'>,
): void {
  const latest = useRef(resource);
  latest.current = resource;
  useEffect(() => {
    const refresh = (): void => {
      const { reload, problem, isLoading } = latest.current;
      const waits = isLoading || problem?.retryAtMs !== undefined;
      if (document.visibilityState === 'visible' && !waits) void reload();
    };
    const timer = setInterval(refresh, everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
}

/** Invalidates paths with one of these prefixes; mounted ones are reloaded. */
export function invalidate(...prefixes: readonly string[]): void {
  for (const [path, entry] of entries) {
    if (prefixes.some((prefix) => path.startsWith(prefix))) entry.loadedMs = 0;
  }
  generation.value += 1;
}

/** Clears all answers: another user or workspace must not see them. */
export function clearResources(): void {
  for (const entry of entries.values()) clearTimeout(entry.retry);
  entries.clear();
  generation.value += 1;
}

/** Stores the answer of a change under the path that returns it. */
export function storeAnswer(path: string, data: unknown): void {
  const entry = entryOf(path);
  entry.data.value = data;
  entry.problem.value = undefined;
  entry.loadedMs = now();
}

function entryOf(path: string): Entry {
  const known = entries.get(path);
  if (known !== undefined) return known;
  const entry: Entry = {
    data: signal(undefined),
    problem: signal(undefined),
    isLoading: signal(true),
    loadedMs: 0,
    reading: undefined,
    controller: undefined,
    users: 0,
    retry: undefined,
  };
  entries.set(path, entry);
  const [oldest] = entries.keys();
  if (entries.size > entriesMax && oldest !== undefined) entries.delete(oldest);
  return entry;
}

/** @returns a function that ends the use; the last one cancels a running request */
function use(path: string): () => void {
  const entry = entryOf(path);
  entry.users += 1;
  return () => {
    entry.users -= 1;
    // Another component may take it over, in this same change of the page.
    queueMicrotask(() => {
      if (entry.users > 0) return;
      clearTimeout(entry.retry);
      cancel(entry);
    });
  };
}

function cancel(entry: Entry): void {
  entry.controller?.abort();
  entry.controller = undefined;
  entry.reading = undefined;
  entry.isLoading.value = entry.data.peek() === undefined;
}

async function readIfOld(path: string): Promise<void> {
  const entry = entryOf(path);
  if (now() - entry.loadedMs < freshMs) return;
  await (entry.reading ?? read(path));
}

async function read(path: string): Promise<void> {
  const entry = entryOf(path);
  clearTimeout(entry.retry);
  entry.isLoading.value = true;
  const controller = new AbortController();
  const reading = readOnce({ path, entry, signal: controller.signal });
  entry.reading = reading;
  entry.controller = controller;
  await reading;
  // Canceled, or requested again in the meantime.
  if (entry.reading !== reading) return;
  entry.reading = undefined;
  entry.controller = undefined;
  entry.isLoading.value = false;
}

interface Request {
  readonly path: string;
  readonly entry: Entry;
  readonly signal: AbortSignal;
}

async function readOnce({ path, entry, signal }: Request): Promise<void> {
  try {
    entry.data.value = await call<unknown>('GET', path, { signal });
    entry.problem.value = undefined;
    entry.loadedMs = now();
  } catch (error) {
    if (signal.aborted) return;
    const problem = problemOf(error);
    entry.problem.value = problem;
    retryLater({ path, entry, signal }, problem);
  }
}

function retryLater({ path, entry }: Request, { retryAtMs }: Problem): void {
  if (retryAtMs === undefined) return;
  entry.retry = window.setTimeout(() => {
    if (entries.get(path) === entry) void read(path);
  }, retryAtMs - now());
}
