/**
 * What was read from the API, by its path: shown at once when a page comes back to it, read again when it
 * is old, dropped when something it may hold has changed. Every request counts against the workspace's
 * limits, so nothing is asked for twice within a few seconds, and what the limits refuse is asked for again
 * by itself when their window ends.
 */
import { type Signal, signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { now } from './browser-clock.ts';
import { call, isScarce } from './http.ts';
import { type Problem, problemOf } from './problem.ts';

/** Younger than this it is not asked for again; changes made here drop it whatever its age. */
const freshMs = 8_000;
/** Under a plan with few requests a minute: going back and forth then costs nothing. */
const scarceFreshMs = 45_000;
/** Answers kept: a session of browsing, a few megabytes at most. */
const entriesMax = 120;
/** A wait longer than a minute's window is the day's cap: then the reader decides. */
const retrySecondsMax = 61;

interface Entry {
  readonly data: Signal<unknown>;
  readonly problem: Signal<Problem | undefined>;
  readonly isLoading: Signal<boolean>;
  loadedMs: number;
  /** The reading under way. */
  reading: Promise<void> | undefined;
  retry: number | undefined;
}

const entries = new Map<string, Entry>();
/** Counts up when something was dropped: mounted readers then read again. */
const generation = signal(0);

export interface Resource<T> {
  /** Of the path, or, while it is read for the first time, of the same path with another query. */
  readonly data: T | undefined;
  /** `data` is of another path than the one asked for. */
  readonly isStale: boolean;
  readonly problem: Problem | undefined;
  readonly isLoading: boolean;
  readonly reload: () => Promise<void>;
}

/** Reads `path` while the component stands; undefined reads nothing. */
export function useResource<T>(path: string | undefined): Resource<T> {
  const before = useRef<{ path: string; data: T } | undefined>(undefined);
  const entry = path === undefined ? undefined : entryOf(path);
  const turn = generation.value;
  useEffect(() => {
    if (path !== undefined) void readIfOld(path);
  }, [path, turn]);
  // The path says what was read: the type is the caller's word for it, as with `response.json()`.
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

/** A turn of `useFollow`; where requests are few, of a slower one. */
const followMs = 2_000;
const scarceFollowMs = 15_000;
/** About two minutes: then the reader asks again. */
const followsMax = 60;

/** Reads again and again while something is under way and the page is looked at. */
export function useFollow(
  isUnderWay: boolean,
  { reload }: Pick<Resource<unknown>, 'reload'>,
): void {
  const turns = useRef(0);
  const again = useRef(reload);
  again.current = reload;
  useEffect(() => {
    if (!isUnderWay) return undefined;
    turns.current = 0;
    const turn = (): void => {
      if (document.visibilityState === 'hidden') return;
      turns.current += 1;
      if (turns.current > followsMax) clearInterval(timer);
      else void again.current();
    };
    const timer = setInterval(turn, isScarce() ? scarceFollowMs : followMs);
    return () => clearInterval(timer);
  }, [isUnderWay]);
}

/** Drops what starts with one of these paths; what is on the page is read again. */
export function invalidate(...prefixes: readonly string[]): void {
  for (const [path, entry] of entries) {
    if (prefixes.some((prefix) => path.startsWith(prefix))) entry.loadedMs = 0;
  }
  generation.value += 1;
}

/** Another person or workspace: nothing of the last one may be seen. */
export function forgetEverything(): void {
  for (const entry of entries.values()) clearTimeout(entry.retry);
  entries.clear();
  generation.value += 1;
}

/** Puts an answer that came with a change where it would be read. */
export function keepAnswer(path: string, data: unknown): void {
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
    retry: undefined,
  };
  entries.set(path, entry);
  const [oldest] = entries.keys();
  if (entries.size > entriesMax && oldest !== undefined) entries.delete(oldest);
  return entry;
}

async function readIfOld(path: string): Promise<void> {
  const entry = entryOf(path);
  const limitMs = isScarce() ? scarceFreshMs : freshMs;
  if (now() - entry.loadedMs < limitMs) return;
  await (entry.reading ?? read(path));
}

async function read(path: string): Promise<void> {
  const entry = entryOf(path);
  clearTimeout(entry.retry);
  entry.isLoading.value = true;
  const reading = readOnce(path, entry);
  entry.reading = reading;
  await reading;
  if (entry.reading === reading) entry.reading = undefined;
  entry.isLoading.value = false;
}

async function readOnce(path: string, entry: Entry): Promise<void> {
  try {
    entry.data.value = await call<unknown>('GET', path);
    entry.problem.value = undefined;
    entry.loadedMs = now();
  } catch (error) {
    const problem = problemOf(error);
    entry.problem.value = problem;
    retryLater(path, entry, problem);
  }
}

function retryLater(path: string, entry: Entry, { status, retryAfterSeconds }: Problem): void {
  if (status !== 429 && status !== 503) return;
  if (retryAfterSeconds === undefined || retryAfterSeconds > retrySecondsMax) return;
  entry.retry = window.setTimeout(() => {
    if (entries.get(path) === entry) void read(path);
  }, retryAfterSeconds * 1_000);
}
