/** What /v1/qr-codes refuses of rules, splits, utm and states: each fault with its path and its code, all at once. */
import { expect, test } from 'vitest';
import { type Answer, word } from '../../support/client.ts';
import { useTestApi } from '../../support/test-client.ts';
import {
  conditions,
  leading,
  long,
  rule,
  rules,
  shapes,
  statics,
  target,
} from './route-fault-cases.ts';

const { client, makeCode } = await useTestApi();

const faultsOf = ({ faults }: Answer): Record<string, string> =>
  Object.fromEntries(faults.map(({ path, code }) => [path ?? '', code ?? '']));

const cases = [...shapes, ...conditions, ...rules, ...statics];

test.each(cases)('a new code with %s is refused', async (_, fields, expected) => {
  const answer = await client.post('/v1/qr-codes', { target, ...fields });
  expect([answer.status, answer.json.code]).toEqual([422, 'validation_failed']);
  expect(faultsOf(answer)).toEqual(expected);
  expect(answer.faults).toHaveLength(Object.keys(expected).length);
  for (const { message } of answer.faults) expect(message).not.toMatch(/Invalid input|undefined/);
});

test.each([...shapes, ...conditions, ...rules])(
  'a change and a replacement with %s are refused, and nothing changes',
  async (_, fields, expected) => {
    const made = await makeCode();
    const path = `/v1/qr-codes/${word(made.id)}`;
    for (const method of ['PATCH', 'PUT']) {
      const answer = await client.call(method, path, { body: { target, ...fields } });
      expect([method, answer.status, faultsOf(answer)]).toEqual([method, 422, expected]);
    }
    expect((await client.get(path)).json).toEqual(made);
  },
);

test('a part of the wrong kind hides no fault of another part', async () => {
  const body = {
    target: 'nowhere',
    tags: 'menu',
    rules: [7, { label: 'a', if: 7, then: 7 }, rule({ os: ['iOS'] }, { label: 'target' })],
    split: [null, leading('a')],
    utm: { source: '{x}', medium: {} },
    startsAt: '2040-01-02T00:00:00Z',
    expiresAt: '2040-01-01T00:00:00Z',
    fallbackUrl: '//example.com',
  };
  const expected = {
    target: 'invalid_url',
    tags: 'wrong_type',
    'rules.0': 'wrong_type',
    'rules.1.if': 'wrong_type',
    'rules.1.then': 'wrong_type',
    'rules.2.label': 'reserved',
    'split.0': 'wrong_type',
    'split.1.label': 'duplicate',
    'utm.source': 'unknown_token',
    'utm.medium': 'wrong_type',
    startsAt: 'after_expiry',
    fallbackUrl: 'invalid_url',
  };
  expect(faultsOf(await client.post('/v1/qr-codes', body))).toEqual(expected);
  const path = `/v1/qr-codes/${word((await makeCode()).id)}`;
  expect(faultsOf(await client.patch(path, body))).toEqual(expected);
  const text = { type: 'text', target: 'Hi', name: 7, expiresAt: '2040-01-01T00:00:00Z' };
  expect(faultsOf(await client.post('/v1/qr-codes', text))).toEqual({
    name: 'wrong_type',
    expiresAt: 'dynamic_only',
  });
});

test('what is stored counts too: a change sees the end, the target and the labels that stay', async () => {
  const made = await client.post('/v1/qr-codes', {
    target: long(2_040),
    startsAt: '2030-01-01T00:00:00Z',
    rules: [rule({ os: ['iOS'] }, { label: 'a' })],
  });
  const path = `/v1/qr-codes/${word(made.json.id)}`;
  const body = {
    expiresAt: '2029-01-01T00:00:00Z',
    utm: { source: 'qr' },
    split: [leading('a'), leading('b')],
  };
  expect(faultsOf(await client.patch(path, body))).toEqual({
    startsAt: 'after_expiry',
    target: 'too_long',
    'split.0.label': 'duplicate',
  });
});

test('the name of the campaign is part of a target’s length', async () => {
  const draft = { name: 'n'.repeat(60), startDate: '2026-03-04', qrCodeIds: [] };
  const campaign = await client.post('/v1/campaigns', draft);
  const campaignIds = [word(campaign.json.id)];
  const body = { target: long(2_000), utm: { campaign: '{campaign}' } };
  const path = `/v1/qr-codes/${word((await makeCode(body)).id)}`;
  const refused = await client.post('/v1/qr-codes', { ...body, campaignIds });
  expect(faultsOf(refused)).toEqual({ target: 'too_long' });
  const joining = await client.patch(path, { campaignIds });
  expect(faultsOf(joining)).toEqual({ target: 'too_long' });
});

test('a static code takes the defaults, and nothing else, in a change too', async () => {
  const defaults = {
    rules: [],
    split: null,
    utm: { source: null },
    passQuery: false,
    startsAt: null,
    paused: false,
    fallbackUrl: null,
  };
  const path = `/v1/qr-codes/${word((await makeCode({ dynamic: false, ...defaults })).id)}`;
  expect((await client.patch(path, defaults)).status).toBe(200);
  expect((await client.put(path, { target, ...defaults })).status).toBe(200);
  const refused = await client.patch(path, { paused: true, utm: { term: 'x' }, name: 7 });
  const faults = { paused: 'dynamic_only', utm: 'dynamic_only', name: 'wrong_type' };
  expect(faultsOf(refused)).toEqual(faults);
});
