/** Tags in use, offered where one is written: what is chosen is spelled as the others have it. */
import { distinctTags } from '../../../model/fold.ts';
import { useResource } from '../../client/resource.ts';
import type { TagList } from '../../client/wire.ts';

/** More than a person looks through; the most used come first. */
const offeredMax = 200;

export function useTags(): readonly string[] {
  const { data } = useResource<TagList>(`/qr-codes/tags?limit=${offeredMax}`);
  return data?.data.map(({ tag }) => tag) ?? [];
}

/** A text of tags with commas, each once. */
export const splitTags = (text: string): string[] => {
  const tags = text.split(',').map((tag) => tag.trim());
  return distinctTags(tags.filter((tag) => tag !== ''));
};

/** The whole text with each tag in place of the one that is being written. */
export function completions(text: string, tags: readonly string[]): string[] {
  const before = splitTags(text.slice(0, text.lastIndexOf(',') + 1));
  return tags.filter((tag) => !before.includes(tag)).map((tag) => [...before, tag].join(', '));
}
