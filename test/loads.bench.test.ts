/** Two loads of the bench still run, as short as they can be; the others run at night: bench.nightly.test.ts. */
import { expect, it } from 'vitest';
import { loads } from '../bench/loads/suite.ts';

const options = { isQuick: true, isFull: false, rounds: 1, seconds: 0.1, previous: undefined };

it('durability: the service under load answers with redirects alone', async () => {
  const { rows, text } = await loads['durability']!(options);
  expect(rows).toEqual(['process']);
  expect(text).toContain('process');
});

// Redirects end while deliveries wait that are queued for this time.
it('deliver: every delivery comes once, alone and in lists', async () => {
  const { text } = await loads['deliver']!(options);
  expect(text).toContain('bare undici');
  expect(text).toContain('1500 scans/s');
  expect(text).toContain('deliveries saturated');
});
