/** Who is in the cluster: a name and its disk, the numbers it gets, and those that a lost disk had. */
import { expect, test } from 'vitest';
import {
  type Joined,
  type JoinRequest,
  type Refusal,
  Registry,
} from '../../../src/cluster/nodes/registry.ts';
import { createIdSource } from '../../../src/model/ids.ts';
import { journalsMax } from '../../../src/engine/journal/positions.ts';
import { temporaryManagement } from '../../store/temporary-management.ts';

const clock = { now: () => 1_000, monotonicMs: () => 1_000 };

async function fixture() {
  const { store } = temporaryManagement();
  const connected = new Map<string, string>();
  const ids = createIdSource(clock, (bytes) => bytes.fill(7));
  const options = { store, ids, clock, instanceOf: (name: string) => connected.get(name) };
  const nodes = new Registry(options);
  const cluster = await nodes.begin();
  const ask = (request: Partial<JoinRequest>): Promise<Joined | Refusal> => {
    const own = { name: 'a', id: '', role: 'all', threads: 2, cluster: '', instance: 'x' } as const;
    return nodes.join({ ...own, starts: [], host: '', ...request });
  };
  const join = async (request: Partial<JoinRequest> = {}) => {
    const joined = await ask(request);
    if ('refused' in joined) throw new Error(joined.refused);
    return joined.node;
  };
  /** @returns why it may not join; in brackets where that may lapse */
  const refusal = async (request: Partial<JoinRequest>): Promise<string | undefined> => {
    const answer = await ask(request);
    if (!('refused' in answer)) return undefined;
    const text = answer.refused.replace('Cannot join the cluster: ', '');
    return answer.mayLapse ? `(${text})` : text;
  };
  /** Of all journals, those of former disks and of nodes that left too. */
  const owners = (): string =>
    [...nodes.owners()].map(([no, { node, run }]) => `${no} of ${node}.${run}`).join(', ');
  return { store, nodes, options, connected, cluster, join, refusal, owners };
}

test('an unknown name gets an id, run 1 and a journal for each thread; a core without threads none', async () => {
  const { nodes, join, cluster, owners } = await fixture();
  expect(cluster).toMatch(/^cl_[0-9a-z]{20}$/);
  expect([await nodes.begin(), nodes.clusterId]).toEqual([cluster, cluster]);
  const made = { name: 'a', role: 'all', journals: [1, 2], run: 1, past: [] };
  expect(await join()).toMatchObject(made);
  expect(await join({ name: 'c', role: 'core', threads: 4 })).toMatchObject({ journals: [] });
  expect(await join({ name: 'e', role: 'edge', threads: 1 })).toMatchObject({ journals: [3] });
  expect(nodes.nodes().map(({ name }) => name)).toEqual(['a', 'c', 'e']);
  expect(nodes.cores().map(({ name }) => name)).toEqual(['a', 'c']);
  expect(owners()).toBe('1 of a.1, 2 of a.1, 3 of e.1');
});

test('the same node joins again as it was, with more journals for more threads', async () => {
  const { nodes, store, join, cluster } = await fixture();
  const { id } = await join();
  const changes = store.last('node');
  expect(await join({ id, cluster })).toMatchObject({ id, journals: [1, 2], run: 1 });
  expect(store.last('node')).toBe(changes);
  expect(await join({ id, threads: 3 })).toMatchObject({ id, journals: [1, 2, 3], run: 1 });
  expect(await join({ id, threads: 1 })).toMatchObject({ journals: [1, 2, 3] });
  expect(await join({ id, role: 'core' })).toMatchObject({ role: 'core', journals: [1, 2, 3] });
  expect(nodes.find('a')).toMatchObject({ role: 'core', run: 1 });
});

test('a new disk under a known name registers again; the journals of the former disk stay known', async () => {
  const { join, owners } = await fixture();
  const first = await join();
  const second = await join();
  expect(second).toMatchObject({ journals: [3, 4], run: 2, past: [{ journals: [1, 2], run: 1 }] });
  expect(second.id).not.toBe(first.id);
  const third = await join({ threads: 1 });
  expect(third.past).toEqual([...second.past, { journals: [3, 4], run: 2 }]);
  expect(owners()).toBe('1 of a.1, 2 of a.1, 3 of a.2, 4 of a.2, 5 of a.3');
});

test('an old disk does not take its name back from the new one, nor does one that has left', async () => {
  const { nodes, join, refusal } = await fixture();
  const old = await join();
  const { id } = await join();
  expect(await refusal({ id: old.id })).toBe(
    `its data folder is of ${old.id}, and a is ${id} now; start it in an empty data folder`,
  );
  expect(await join({ id })).toMatchObject({ id, run: 2, journals: [3, 4] });
  await nodes.remove('a');
  expect(await refusal({ id })).toContain('its data folder is of');
  expect(await refusal({ id: 'n_other', name: 'b' })).toContain('its data folder is of');
  expect(await join()).toMatchObject({ run: 3 });
});

test('each start is recorded; a folder that does not know the last one is a copy', async () => {
  const { nodes, store, join, refusal, connected } = await fixture();
  const host = 'berlin';
  const { id, start } = await join({ starts: ['n_1'], host });
  expect(start).toEqual({ id: 'n_1', host });
  const again = async (...starts: string[]) => await join({ id, starts, host });
  expect(await again('n_1', 'n_2')).toMatchObject({ run: 1, start: { id: 'n_2', host } });
  const changes = store.last('node');
  // The answer was lost, or has come.
  await again('n_1', 'n_2');
  await again('n_2');
  expect(store.last('node')).toBe(changes);
  expect(await refusal({ id, starts: ['n_1', 'n_3'], host: 'rome' })).toBe(
    'its data folder is a copy: a has started on berlin since; start it in an empty data folder',
  );
  expect(nodes.find('a')?.start?.id).toBe('n_2');
  connected.set('a', 'x');
  expect(await refusal({ id, instance: 'y', starts: ['n_2', 'n_4'], host })).toBe(
    '(a runs on berlin; give each machine a cluster.nodeName and an empty data folder of its own)',
  );
  connected.clear();
  // An operator has removed start.json.
  expect(await again('n_5')).toMatchObject({ start: { id: 'n_5' } });
});

test('a name is not given away while its node is connected', async () => {
  const { join, refusal, connected } = await fixture();
  const { id } = await join();
  connected.set('a', 'x');
  expect(await refusal({ instance: 'y' })).toContain('a runs on');
  expect(await refusal({ id, instance: 'y' })).toContain('(a runs on another machine; give each');
  expect(await join({ id, instance: 'x' })).toMatchObject({ run: 1 });
  connected.clear();
  expect(await join({ id, instance: 'y' })).toMatchObject({ run: 1 });
  expect(await join({ instance: 'y' })).toMatchObject({ run: 2 });
});

test('other clusters, other roles and numbers that are used up are refused; nothing changes', async () => {
  const { store, join, refusal } = await fixture();
  const { id } = await join();
  const changes = store.last('node');
  expect(await refusal({ cluster: 'cl_other' })).toContain('of the cluster cl_other');
  expect(await refusal({ id, role: 'edge' })).toContain('a is the name of a node');
  // Three are free.
  await store.environment.transaction(() => store.meta.put('next:journal', journalsMax - 3));
  expect(await refusal({ name: 'b', threads: 4 })).toContain('journals are given out');
  expect([store.last('node'), store.last('journal')]).toEqual([changes, journalsMax - 4]);
  expect(await join({ name: 'b', threads: 3 })).toMatchObject({ run: 1 });
  expect(await refusal({ name: 'c', threads: 1 })).toContain('journals are given out');
  expect(await join({ id })).toMatchObject({ journals: [1, 2] });
});

test('one name cannot use up the numbers of all', async () => {
  const { store, join, refusal } = await fixture();
  expect(await refusal({ threads: 65 })).toBe('set redirect.threads to 64 or less, it asks for 65');
  for (let disk = 0; disk < 15; disk++) await join({ threads: 64 });
  const { id, journals } = await join({ threads: 63 });
  expect(await refusal({ threads: 2 })).toContain('a has had its 1024 journals; start it under');
  expect(await join({ id, threads: 63 })).toMatchObject({ journals });
  expect(store.last('journal')).toBe(1_023);
  expect(await join({ name: 'b' })).toMatchObject({ run: 1 });
});

test('a start whose answer was lost gets the same numbers', async () => {
  const { store, join } = await fixture();
  const first = await join({ starts: ['n_1'], host: 'm' });
  expect(await join({ starts: ['n_1'], host: 'm' })).toEqual(first);
  expect(store.last('journal')).toBe(2);
  expect(await join({ starts: ['n_2'], host: 'm' })).toMatchObject({ run: 2, journals: [3, 4] });
});

test('a node that left is listed no more; its journals are, and its name may come back with any role', async () => {
  const { nodes, join, connected, owners } = await fixture();
  const { id } = await join();
  connected.set('a', 'other');
  expect([await nodes.remove('a'), await nodes.remove('a')]).toEqual([true, false]);
  expect([nodes.nodes(), nodes.find('a')]).toEqual([[], undefined]);
  expect(owners()).toBe('1 of a.1, 2 of a.1');
  const back = await join({ role: 'edge' });
  expect(back).toMatchObject({ role: 'edge', run: 2, journals: [3, 4] });
  expect(back.id).not.toBe(id);
});

test('each change is reported, to a second reader of the rows too; other commits are not', async () => {
  const { nodes, store, options, join } = await fixture();
  const other = new Registry(options);
  let told = 0;
  other.changed.listen(() => told++);
  const { id } = await join();
  await join({ id });
  expect(told).toBe(1);
  await store.environment.transaction(() => store.keyUses.put('key_1', 1));
  expect(told).toBe(1);
  await nodes.remove('a');
  expect(told).toBe(2);
  expect(other.nodes()).toEqual([]);
  other.close();
  await join();
  expect(told).toBe(2);
  expect(other.nodes().length).toBe(1);
});
