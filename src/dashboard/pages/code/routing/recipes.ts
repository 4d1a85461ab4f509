/** Rules that many codes need, ready but for their addresses. */
import { browserZone } from '../../../client/zones.ts';
import type { IconName } from '../../../parts/icon.tsx';
import { type ConditionsDraft, newKey, type RuleDraft } from './route-draft.ts';

export interface Recipe {
  readonly icon: IconName;
  readonly title: string;
  readonly text: string;
  readonly rules: () => readonly RuleDraft[];
}

export const ruleFor = (conditions: ConditionsDraft): RuleDraft => ({
  key: newKey(),
  label: '',
  if: conditions,
  target: '',
  split: undefined,
});

/** The second language that a menu is most often written in. */
const otherLanguage = (): string => (navigator.language.startsWith('en') ? 'es' : 'en');

export const recipes: readonly Recipe[] = [
  {
    icon: 'download',
    title: 'App stores',
    text: 'iPhones go to the App Store, Android phones to Google Play.',
    rules: () => [ruleFor({ os: ['iOS'] }), ruleFor({ os: ['Android'] })],
  },
  {
    icon: 'language',
    title: 'Languages',
    text: 'People whose phone speaks another language get a page in theirs.',
    rules: () => [ruleFor({ language: [otherLanguage()] })],
  },
  {
    icon: 'clock',
    title: 'Opening hours',
    text: 'One page while you are open, your destination at all other times.',
    rules: () => [
      ruleFor({
        time: {
          days: ['mon', 'tue', 'wed', 'thu', 'fri'],
          from: '11:00',
          to: '22:00',
          timezone: browserZone(),
        },
      }),
    ],
  },
];
