/**
 * What a core answers to edges: pieces are bounded in bytes, however large the programs of its codes are. And what an edge stores
 * of them: keys are gone when all links come without them, also if they were cut short.
 */
import { expect, onTestFinished, test } from 'vitest';
import { LinkFeed } from '../../../src/cluster/links/link-feed.ts';
import { blocksEnd, decodePiece, type LinkPiece } from '../../../src/cluster/links/link-piece.ts';
import { ReplicaStore } from '../../../src/cluster/links/replica-store.ts';
import type { Request } from '../../../src/platform/uws/request.ts';
import { linkIn, type StoredLink, withLink } from '../../../src/engine/links/link-blocks.ts';
import { numberLinkChange } from '../../../src/store/management/link-changes.ts';
import { packPlain } from '../../../src/store/codec.ts';
import { systemClock } from '../../../src/platform/system-clock.ts';
import { taggedProgram } from '../../engine/links/routed.ts';
import { temporaryManagement } from '../../store/temporary-management.ts';

const pieceBytes = 1_048_576 + 50_000;
const codes = 120;
const changes = codes + codes / 3;
const target = 'https://example.com/';

/** A code a block, every third one changed twice, each with a program of 38 KB. */
async function filled() {
  const { store } = temporaryManagement();
  await store.environment.transaction(() => {
    for (let no = 0; no < changes; no++) {
      const codeNo = 16 * (no < codes ? no : (no - codes) * 3);
      const program = taggedProgram(no, 40_000);
      const fields = { key: `KEY${codeNo}`, codeNo, workspaceNo: 1, target, expiresAtMs: 0 };
      const link: StoredLink = { ...fields, scanLimit: undefined, state: 'live', program };
      store.links.put(codeNo >>> 4, withLink(store.links.get(codeNo >>> 4), link));
      numberLinkChange(store, codeNo);
    }
  });
  const feed = new LinkFeed({
    store,
    clock: systemClock,
    cluster: () => 'cl_1',
    isLeading: () => true,
    isCurrent: () => true,
    isEdge: () => true,
    limitedTotals: () => [],
    docsUrl: '',
  });
  onTestFinished(() => feed.close());
  const ask = async (query: string): Promise<LinkPiece> => {
    const request = { method: 'GET', path: '/cluster/links', query, header: () => undefined };
    const { body } = (await feed.reply(request as unknown as Request))!;
    expect((body as Uint8Array).length).toBeLessThan(pieceBytes);
    return decodePiece(body as Uint8Array);
  };
  return { store, ask };
}

test('changes come in pieces of some blocks, each once, with the block of every code', async () => {
  const { store, ask } = await filled();
  const blocks = new Set<number>();
  let pieces = 0;
  let seen = 0;
  while (seen < changes) {
    const piece = await ask(`cluster=cl_1&number=${seen}`);
    for (const [blockNo, bytes] of piece.blocks) {
      blocks.add(blockNo);
      const stored = linkIn(store.links.get(blockNo)!, blockNo * 16);
      expect(linkIn(bytes, blockNo * 16)?.program?.length).toBe(stored?.program?.length);
    }
    expect(piece.codes.filter((codeNo) => !blocks.has(codeNo >>> 4))).toEqual([]);
    expect(piece.number).toBe(seen + piece.codes.length);
    seen = piece.number;
    pieces += 1;
  }
  expect(seen).toBe(changes);
  expect(pieces).toBeGreaterThan((codes * 38_000) / pieceBytes - 1);
  const last = await ask(`cluster=cl_1&number=${seen}`);
  expect(last).toMatchObject({ number: seen, codes: [], blocks: [], part: undefined });
});

test('all links come in such pieces, too', async () => {
  const { ask } = await filled();
  let blocks = 0;
  for (let next = 0; next !== blocksEnd;) {
    const piece: LinkPiece = await ask(next === 0 ? '' : `cluster=cl_1&number=5&next=${next}`);
    expect([piece.number, piece.part?.[0]]).toEqual([next === 0 ? changes : 5, next]);
    blocks += piece.blocks.length;
    next = piece.part![1];
  }
  expect(blocks).toBe(codes);
});

test.each([
  ['not msgpack', Buffer.from([0xc1, 0xc1])],
  ['of other fields', packPlain([1, 'c', 3, true, 3, [], [[2, 'bytes']], undefined, 0, [], 0, []])],
])('an answer that is %s is refused', (_what, bytes) => {
  expect(() => decodePiece(bytes)).toThrow(/other fields than a piece of links/);
});

function part(number: number, keys: Record<number, string>, next = blocksEnd): LinkPiece {
  const blocks = Object.entries(keys).map(([no, key]) => {
    const fields = { key, codeNo: Number(no) * 16, workspaceNo: 1, target, expiresAtMs: 0 };
    const link: StoredLink = { ...fields, scanLimit: undefined, state: 'live', program: undefined };
    return [Number(no), withLink(undefined, link)] as const;
  });
  const others = { codes: [], pagesNumber: 0, pages: [], totalsNext: 0, totals: [] };
  const head = { cluster: 'cl_1', last: number, isCurrent: true, number };
  return { ...head, ...others, blocks, part: [0, next] };
}

test('keys that all links lack vanish, also if they were cut short and came again', async () => {
  const { store } = temporaryManagement();
  const replica = new ReplicaStore(store);
  await replica.apply(part(3, { 1: 'OLD1', 2: 'OLD2', 4: 'KEPT' }));
  expect([...replica.takeVanished()]).toEqual([]);

  await replica.apply(part(5, { 1: 'NEW1', 3: 'NEW3' }, 4));
  expect([replica.hasLinks, replica.position]).toEqual([true, undefined]);
  // A key of the first ones has another code now.
  await replica.apply(part(5, { 1: 'NEW1', 3: 'OLD2', 4: 'KEPT' }));
  expect([...replica.takeVanished()]).toEqual(['OLD1', 'NEW3']);
  expect(replica.position).toMatchObject({ cluster: 'cl_1', number: 5 });
  await expect(replica.apply({ ...part(9, {}), part: undefined, codes: [1] })).rejects.toThrow(
    'Cannot read links: change 9 follows 5',
  );
});
