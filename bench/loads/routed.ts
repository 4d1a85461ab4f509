/** The routes of a code that uses much of what there is: a menu, two app stores, an experiment, lunch. */
import type { Routing } from '../../src/model/routing/routing.ts';

const to = (label: string, weight: number) => ({
  label,
  target: `https://shop.example/${label}`,
  weight,
});

export const typicalRouting: Routing = {
  rules: [
    {
      label: 'lunch',
      if: {
        device: ['mobile'],
        language: ['fr', 'it'],
        time: { days: ['mon', 'fri'], from: '11:30', to: '14:00', timezone: 'Europe/Berlin' },
      },
      then: { target: 'https://shop.example/lunch' },
    },
    {
      label: 'dach',
      if: { country: ['DE', 'AT', 'CH'], os: ['iOS'] },
      then: { target: 'https://shop.example/dach' },
    },
    { label: 'ios', if: { os: ['iOS'] }, then: { target: 'https://apps.example/ios' } },
    {
      label: 'android',
      if: { os: ['Android'], browser: ['Chrome', 'Samsung Internet'] },
      then: { split: [to('one', 50), to('two', 50)] },
    },
  ],
  passQuery: false,
  paused: false,
  labels: ['lunch', 'dach', 'ios', 'one', 'two'].map((name) => ({ name })),
  campaign: '',
  seed: Buffer.alloc(16, 7).toString('base64url'),
};
