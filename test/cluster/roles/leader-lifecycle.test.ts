/**
 * Roles of a core: each change opens the next role before it closes the last, one at a time; what a leader without its
 * lease cannot store keeps nothing from closing or from continuing.
 */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Failure } from '../../../src/model/failure.ts';
import { LeaderLifecycle, type OpenRole } from '../../../src/cluster/roles/leader-lifecycle.ts';
import { createLog } from '../../../src/platform/log.ts';

const refused = (): Failure => new Failure('not_active', 'another machine leads');
const full = new Failure('storage_full', 'the disk is full');

/** A core whose lead is taken and lost by hand. */
class Core {
  #isLeading = false;
  readonly lines: string[] = [];
  #events: string[] = [];
  /** What the next opening waits for; it fails where this rejects. */
  held: Promise<unknown> | undefined;
  /** How a role closes. */
  closing = (): Promise<void> => Promise.resolve();
  readonly role = new LeaderLifecycle({
    isLeading: () => this.#isLeading,
    lead: () => this.#open('leading'),
    standBy: () => this.#open('standby'),
    onChanged: () => void this.#events.push('changed'),
    log: createLog('warn', { write: (line: string) => void this.lines.push(JSON.parse(line).msg) }),
  });

  update(isLeading: boolean): Promise<void> {
    this.#isLeading = isLeading;
    return this.role.update();
  }

  async #open(name: string): Promise<OpenRole> {
    this.#events.push(`${name}?`);
    const { held } = this;
    this.held = undefined;
    await held;
    this.#events.push(name);
    return { close: () => this.closing().finally(() => this.#events.push(`no ${name}`)) };
  }

  /** @returns what happened since the last time, and the role */
  get happened(): string {
    return [...this.#events.splice(0), this.role.role].join(' ');
  }
}

async function standby(): Promise<Core> {
  const core = new Core();
  expect(core.happened).toBe('none');
  await core.update(false);
  expect(core.happened).toBe('standby? standby standby');
  return core;
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test.each([
  ['a refusal', refused(), true],
  ['two refusals', new AggregateError([refused(), refused()], 'two'), true],
  ['a full disk', full, false],
  ['a refusal and a full disk', new AggregateError([refused(), full], 'two'), false],
])('a close is clean where another machine stores the rest: %s', async (_, error, isClean) => {
  const core = await standby();
  core.closing = () => Promise.reject(error);
  if (!isClean) return await expect(core.role.close()).rejects.toBe(error);
  await core.role.close();
  expect(core.lines).toEqual(['this role did not close cleanly']);
});

test('it opens what is due and then closes what was; what is due already changes nothing', async () => {
  const core = await standby();
  await core.update(true);
  await core.update(true);
  expect(core.happened).toBe('leading? leading no standby changed leading');
  await core.update(false);
  expect(core.happened).toBe('standby? standby no leading changed standby');
  await core.role.close();
  expect(core.happened).toBe('no standby standby');
});

test('it continues when its former role did not close cleanly, or waits for the log forever', async () => {
  for (const closing of [() => Promise.reject(refused()), () => new Promise<void>(() => {})]) {
    const core = await standby();
    core.closing = closing;
    const changed = core.update(true);
    await vi.advanceTimersByTimeAsync(8_000);
    await changed;
    expect(core.happened).toMatch(/ changed leading$/);
  }
});

test('deposed while it opens, it changes back when that has ended: one change at a time', async () => {
  const core = await standby();
  const held = Promise.withResolvers<void>();
  core.held = held.promise;
  const changes = [core.update(true), core.update(false)];
  await vi.advanceTimersByTimeAsync(5_000);
  expect(core.happened).toBe('leading? standby');
  held.resolve();
  await Promise.all(changes);
  expect(core.happened).toBe(
    'leading no standby changed standby? standby no leading changed standby',
  );
});

test('it tries again after 500 ms what could not be opened, and is what it was meanwhile', async () => {
  const core = await standby();
  core.held = Promise.reject(new Error('the port is in use'));
  await core.update(true);
  expect(core.happened).toBe('leading? standby');
  core.held = Promise.reject(refused());
  core.held.catch(() => undefined);
  await vi.advanceTimersByTimeAsync(500);
  expect(core.happened).toBe('leading? standby');
  expect(core.lines).toEqual(['cannot change role, retrying', 'cannot change role, retrying']);
  await vi.advanceTimersByTimeAsync(499);
  expect(core.happened).toBe('standby');
  await vi.advanceTimersByTimeAsync(1);
  expect(core.happened).toBe('leading? leading no standby changed leading');
});

test.each([
  ['opens', 'leading no standby no leading leading'],
  ['fails', 'no standby standby'],
])('closed while a role that %s is opened, it opens nothing more', async (outcome, happened) => {
  const core = await standby();
  const held = Promise.withResolvers<void>();
  core.held = held.promise;
  void core.update(true);
  const closed = core.role.close();
  if (outcome === 'opens') held.resolve();
  else held.reject(new Error('the port is in use'));
  await closed;
  expect(core.happened).toBe(`leading? ${happened}`);
  await core.update(false);
  expect([core.happened.includes('?'), vi.getTimerCount()]).toEqual([false, 0]);
});
