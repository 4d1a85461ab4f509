/** An answer has the fields of its schema, and nothing else of the record. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { createdAt, time } from '../../../src/api/fields.ts';
import { view } from '../../../src/api/view.ts';

const schema = z.object({
  id: z.string(),
  note: z.string().nullable(),
  link: z.string().optional(),
  endsAt: time.nullable().meta({ description: 'When it ends' }),
  seenAt: time.optional(),
  createdAt,
});

test('times are ISO 8601, absent fields are null or absent, the rest is dropped', () => {
  const record = { id: 'key_1', createdAtMs: 0, secret: 'x', endsAt: 'y' };
  expect(view(schema, record)).toEqual({
    id: 'key_1',
    note: null,
    endsAt: null,
    createdAt: '1970-01-01T00:00:00.000Z',
  });
  const whole = { ...record, note: '', link: 'z', endsAtMs: 1, seenAtMs: 2 };
  expect(view(schema, whole)).toEqual({
    id: 'key_1',
    note: '',
    link: 'z',
    endsAt: '1970-01-01T00:00:00.001Z',
    seenAt: '1970-01-01T00:00:00.002Z',
    createdAt: '1970-01-01T00:00:00.000Z',
  });
});
