/** Requests that wait for others: on a slow line, what is on top of the page comes first. */
import { useRef } from 'preact/hooks';
import { type Resource, useResource } from '../../client/resource.ts';

/** Loads `path` once it `mayLoad`; until then what was shown before stays, marked as of another query. */
export function useLater<T>(path: string | undefined, mayLoad: boolean): Resource<T> {
  const asked = useRef<string | undefined>(undefined);
  if (mayLoad || path === undefined) asked.current = path;
  const resource = useResource<T>(asked.current);
  if (asked.current === path) return resource;
  return { ...resource, isStale: resource.data !== undefined, problem: undefined };
}

/** The answer is there, or the reason why not. */
export const isSettled = ({ data, isStale, problem }: Resource<unknown>): boolean =>
  problem !== undefined || (data !== undefined && !isStale);
