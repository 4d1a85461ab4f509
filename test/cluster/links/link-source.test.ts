/** What a core reads of its links for edges: pieces are bounded in bytes, however large the programs of its codes are. */
import { onTestFinished, expect, test } from 'vitest';
import { LinkFrameDecoder } from '../../../src/cluster/links/link-frames.ts';
import { LinkSource } from '../../../src/cluster/links/link-source.ts';
import {
  linkBlockBytesMax,
  linkIn,
  type StoredLink,
  withLink,
} from '../../../src/store/management/link-blocks.ts';
import { numberLinkChange } from '../../../src/store/management/link-changes.ts';
import { taggedProgram } from '../../links/routed.ts';
import { temporaryManagement } from '../../store/temporary-management.ts';

/** More than twice what a piece has. */
const pieceBytes = 262_144;
const codes = 120;
const target = 'https://example.com/';

/** A code a block, every third one changed twice, each with a program of 38 KB. */
async function filled() {
  const { store } = temporaryManagement();
  await store.environment.transaction(() => {
    for (let no = 0; no < codes + codes / 3; no++) {
      const codeNo = 16 * (no < codes ? no : (no - codes) * 3);
      const program = taggedProgram(no, 40_000);
      const fields = { key: `KEY${codeNo}`, codeNo, workspaceNo: 1, target, expiresAtMs: 0 };
      const link: StoredLink = { ...fields, scanLimit: undefined, state: 'live', program };
      store.links.put(codeNo >>> 4, withLink(store.links.get(codeNo >>> 4), link));
      numberLinkChange(store, codeNo);
    }
  });
  const source = new LinkSource(store);
  onTestFinished(() => source.close());
  return { store, source };
}

test('changes come in pieces of some blocks, each once, and every change behind its block', async () => {
  const { store, source } = await filled();
  const decoder = new LinkFrameDecoder();
  const blocks = new Set<number>();
  let pieces = 0;
  let number = 0;
  while (number < source.last) {
    const slice = source.changesAfter(number)!;
    expect(slice.piece.length).toBeLessThan(pieceBytes + linkBlockBytesMax);
    expect(slice.piece.length).toBeLessThan(2 * pieceBytes);
    for (const frame of decoder.read(slice.piece)) {
      if (frame.kind === 'block') {
        blocks.add(frame.blockNo);
        const codeNo = frame.blockNo * 16;
        const stored = linkIn(store.links.get(frame.blockNo)!, codeNo);
        expect(linkIn(frame.bytes, codeNo)?.program?.length).toBe(stored?.program?.length);
      } else if (frame.kind === 'change') {
        number += 1;
        expect([frame.number, blocks.has(frame.codeNo >>> 4)]).toEqual([number, true]);
      }
    }
    expect(slice.number).toBe(number);
    pieces += 1;
  }
  expect(number).toBe(codes + codes / 3);
  expect(pieces).toBeGreaterThan((codes * 38_000) / pieceBytes - 1);
  expect(source.changesAfter(number)).toEqual({ piece: Buffer.alloc(0), number });
});

test('a snapshot comes in such pieces, too', async () => {
  const { source } = await filled();
  const decoder = new LinkFrameDecoder();
  let blocks = 0;
  for (let next: number | undefined = 0; next !== undefined;) {
    const slice = source.snapshot(next);
    expect(slice.piece.length).toBeLessThan(2 * pieceBytes);
    blocks += decoder.read(slice.piece).length;
    ({ next } = slice);
  }
  expect(blocks).toBe(codes);
});
