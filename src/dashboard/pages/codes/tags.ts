/** Tags in use, suggested while typing, so that their spelling stays the same. */
import { distinctTags } from '../../../model/fold.ts';
import { useResource } from '../../client/resource.ts';
import type { TagList } from '../../client/wire.ts';

/** More than a person reads; the most used come first. */
const offeredMax = 200;

export function useTags(): readonly string[] {
  const { data } = useResource<TagList>(`/qr-codes/tags?limit=${offeredMax}`);
  return data?.data.map(({ tag }) => tag) ?? [];
}

/** Splits a text at its commas into distinct tags. */
export const splitTags = (text: string): string[] => {
  const tags = text.split(',').map((tag) => tag.trim());
  return distinctTags(tags.filter((tag) => tag !== ''));
};

/** The text with each tag in place of the unfinished one. */
export function completions(text: string, tags: readonly string[]): string[] {
  const before = splitTags(text.slice(0, text.lastIndexOf(',') + 1));
  return tags.filter((tag) => !before.includes(tag)).map((tag) => [...before, tag].join(', '));
}
