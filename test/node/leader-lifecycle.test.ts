/**
 * Roles of a core: each change opens the next role before it closes the last, one at a time; what a leader without its
 * lease cannot store keeps nothing from closing or from continuing.
 */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Failure } from '../../src/model/failure.ts';
import { LeaderLifecycle, type OpenRole } from '../../src/node/leader-lifecycle.ts';
import { createLog } from '../../src/telemetry/log.ts';

const lines: string[] = [];
const log = createLog('info', {
  write: (line: string) => void lines.push(JSON.parse(line).msg),
});
const refused = (): Failure => new Failure('not_active', 'another machine leads');
const closingWith = (error: Error): OpenRole => ({
  close: async () => {
    throw error;
  },
});

const full = new Failure('storage_full', 'the disk is full');

test.each([
  ['a refusal', refused(), true],
  ['two refusals', new AggregateError([refused(), refused()], 'two'), true],
  ['a full disk', full, false],
  ['a refusal and a full disk', new AggregateError([refused(), full], 'two'), false],
])(
  'LeaderLifecycle.close is clean where another machine stores the rest: %s',
  async (_, error, isClean) => {
    const role = new LeaderLifecycle({
      isLeading: () => true,
      lead: async () => closingWith(error),
      standBy: () => Promise.reject(new Error('it leads')),
      onChanged: () => undefined,
      log,
    });
    await role.update();
    lines.length = 0;
    if (!isClean) return await expect(role.close()).rejects.toBe(error);
    await role.close();
    expect(lines).toEqual(['this role did not close cleanly']);
  },
);

test('a machine continues when its former role did not close cleanly, or waits for the log forever', async () => {
  vi.useFakeTimers();
  for (const former of [closingWith(refused()), { close: () => new Promise<void>(() => {}) }]) {
    let isLeading = true;
    const onChanged = vi.fn();
    const role = new LeaderLifecycle({
      isLeading: () => isLeading,
      lead: () => Promise.resolve(former),
      standBy: () => Promise.resolve({ close: () => Promise.resolve() }),
      onChanged,
      log,
    });
    await role.update();
    isLeading = false;
    const changed = role.update();
    await vi.advanceTimersByTimeAsync(8_000);
    await changed;
    expect([role.role, onChanged.mock.calls.length]).toEqual(['standby', 1]);
  }
});

/** A core whose lead is taken and lost by hand, and whose roles are opened by hand where a test holds them. */
class TestRoles {
  isLeading = false;
  readonly events: string[] = [];
  /** What the next opening waits for; it fails where this rejects. */
  held: Promise<unknown> | undefined;
  readonly role = new LeaderLifecycle({
    isLeading: () => this.isLeading,
    lead: () => this.#open('leading'),
    standBy: () => this.#open('standby'),
    onChanged: () => undefined,
    log,
  });

  update(isLeading: boolean): Promise<void> {
    this.isLeading = isLeading;
    return this.role.update();
  }

  async #open(name: string): Promise<OpenRole> {
    this.events.push(`opening ${name}`);
    const { held } = this;
    this.held = undefined;
    await held;
    this.events.push(`${name} is open`);
    return { close: async () => void this.events.push(`${name} is closed`) };
  }
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('LeaderLifecycle opens what is due and then closes what was; what is due already changes nothing', async () => {
  const roles = new TestRoles();
  const { role, events } = roles;
  expect(role.role).toBe('none');
  for (const [isLeading, name, former] of [
    [false, 'standby', undefined],
    [true, 'leading', 'standby'],
    [false, 'standby', 'leading'],
    [true, 'leading', 'standby'],
  ] as const) {
    await roles.update(isLeading);
    await roles.update(isLeading);
    const closed = former === undefined ? [] : [`${former} is closed`];
    expect(events.splice(0)).toEqual([`opening ${name}`, `${name} is open`, ...closed]);
    expect(role.role).toBe(name);
  }
  await role.close();
  expect(events).toEqual(['leading is closed']);
});

test('LeaderLifecycle, deposed while it opens, changes back when that has ended: one change at a time', async () => {
  const roles = new TestRoles();
  await roles.update(false);
  roles.events.length = 0;
  const held = Promise.withResolvers<void>();
  roles.held = held.promise;
  const led = roles.update(true);
  const deposed = roles.update(false);
  await vi.advanceTimersByTimeAsync(5_000);
  expect([roles.role.role, ...roles.events]).toEqual(['standby', 'opening leading']);
  held.resolve();
  await Promise.all([led, deposed]);
  expect(roles.role.role).toBe('standby');
  expect(roles.events.slice(1)).toEqual([
    'leading is open',
    'standby is closed',
    'opening standby',
    'standby is open',
    'leading is closed',
  ]);
});

test('LeaderLifecycle tries again what could not be opened, and is what it was meanwhile', async () => {
  const roles = new TestRoles();
  await roles.update(false);
  roles.events.length = 0;
  lines.length = 0;
  roles.held = Promise.reject(new Error('the port is in use'));
  await roles.update(true);
  expect([roles.role.role, ...roles.events.splice(0)]).toEqual(['standby', 'opening leading']);
  roles.held = Promise.reject(refused());
  roles.held.catch(() => undefined);
  await vi.advanceTimersByTimeAsync(500);
  expect([roles.role.role, ...roles.events.splice(0)]).toEqual(['standby', 'opening leading']);
  expect(lines).toEqual(['cannot change role, retrying', 'cannot change role, retrying']);
  await vi.advanceTimersByTimeAsync(499);
  expect(roles.events).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect([roles.role.role, ...roles.events]).toEqual([
    'leading',
    'opening leading',
    'leading is open',
    'standby is closed',
  ]);
});

test('LeaderLifecycle closed while it changes closes what has opened, tries nothing again and opens nothing more', async () => {
  for (const outcome of ['opens', 'fails']) {
    const roles = new TestRoles();
    await roles.update(false);
    roles.events.length = 0;
    const held = Promise.withResolvers<void>();
    roles.held = held.promise;
    void roles.update(true);
    const closed = roles.role.close();
    if (outcome === 'opens') held.resolve();
    else held.reject(new Error('the port is in use'));
    await closed;
    const expected =
      outcome === 'opens'
        ? ['leading is open', 'standby is closed', 'leading is closed']
        : ['standby is closed'];
    expect(roles.events).toEqual(['opening leading', ...expected]);
    await roles.update(false);
    expect([roles.events.length, vi.getTimerCount()]).toEqual([1 + expected.length, 0]);
  }
});
