/** The rules and the split of a code, which a change of its destination does not affect. */
import type { RouteOutcome } from '../../../model/routing/routing.ts';
import { plural } from '../../client/format.ts';
import type { QrCode } from '../../client/wire.ts';
import { pathTo } from '../../paths.ts';
import { outcomeText, ruleText } from './routing/sentence.ts';

/** Further rules are only counted. */
const linesMax = 5;

export interface OtherRoutes {
  /** `3 rules and a split in 2 still lead elsewhere` */
  readonly text: string;
  /** Each rule with its destination. */
  readonly lines: readonly string[];
  /** The address of the rules, which focuses them. */
  readonly address: string;
}

/** @returns undefined if everything leads to `target` */
export function otherRoutes({ id, rules, split }: QrCode, target: string): OtherRoutes | undefined {
  const url = URL.canParse(target) ? new URL(target).href : target;
  const isOther = (then: RouteOutcome): boolean =>
    ('target' in then ? [then] : then.split).some((one) => one.target !== url);
  const lines = rules.filter(({ then }) => isOther(then)).map(ruleText);
  let what = lines.length === 0 ? '' : plural(lines.length, 'rule');
  if (split !== null && isOther({ split })) {
    what = `${what === '' ? 'A' : `${what} and a`} split in ${split.length}`;
    lines.push(`Everyone else → ${outcomeText({ split })}`);
  }
  if (lines.length === 0) return undefined;
  const text = `${what} still ${lines.length === 1 ? 'leads' : 'lead'} elsewhere`;
  const rest = lines.splice(linesMax).length;
  if (rest > 0) lines.push(`and ${rest} more`);
  return { text, lines, address: `${pathTo('code', { id })}?part=routes&focus=rules` };
}
