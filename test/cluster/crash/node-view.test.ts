/** What a crash run says of a node's answers: the checks themselves are checked. */
import { expect, it } from 'vitest';
import { type CodeEntry, targetOf } from '../../crash/ledger.ts';
import { ClusterLedger } from './cluster-ledger.ts';
import { NodeView } from './node-view.ts';

function nodes(): { ledger: ClusterLedger; one: NodeView; other: NodeView; code: CodeEntry } {
  const ledger = new ClusterLedger();
  const code = ledger.addCode();
  code.state = 'live';
  return { ledger, code, one: new NodeView('one', ledger), other: new NodeView('other', ledger) };
}

const scan = (view: NodeView, code: CodeEntry) => view.send(code, 'ios', view.scans);

it('an old target is a fault where the node was connected when the new one was answered', () => {
  const { ledger, one, other, code } = nodes();
  code.targetSent = code.targetAcknowledged = 1;
  const before = scan(one, code);
  one.raise(code, 1);
  one.receive(before, 302, targetOf(code, 0));
  other.receive(scan(other, code), 302, targetOf(code, 0));
  other.receive(scan(other, code), 404, '');
  expect(ledger.unexpected).toHaveLength(1);
  expect(ledger.unexpected[0]).toContain('other: /crash-0 (live, target 1 of 1) answered scan 2');
  one.receive(scan(one, code), 302, targetOf(code, 0));
  expect(ledger.staleCount).toBe(2);
  expect(one.stale).toBe(2);
});

it('a node that showed a target shows no older one, and none that was not asked for', () => {
  const { ledger, one, code } = nodes();
  code.targetSent = 2;
  one.receive(scan(one, code), 302, targetOf(code, 2));
  expect(ledger.unexpectedCount).toBe(0);
  one.clear();
  one.receive(scan(one, code), 302, targetOf(code, 1));
  one.receive(scan(one, code), 302, targetOf(code, 3));
  one.receive(scan(one, code), 410, '');
  one.receive(scan(one, code), 503, '');
  expect(ledger.unexpected.map((text) => text.replace(/.*\) answered /, ''))).toEqual([
    'scan 1 with 302 https://target.example/0/1, expected stage 2',
    '302 https://target.example/0/3: nothing of it was asked for',
    '410: nothing of it was asked for',
    '503',
  ]);
});

it('a deleted code leads nowhere', () => {
  const { ledger, one, code } = nodes();
  code.state = 'deleted';
  one.raise(code, Infinity);
  one.receive(scan(one, code), 410, '');
  expect(ledger.unexpectedCount).toBe(0);
  one.receive(scan(one, code), 302, targetOf(code, 0));
  expect(ledger.staleCount).toBe(1);
});
