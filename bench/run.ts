/**
 * `npm run bench`: the parts, then the loads. README.md next to it says what is compared, and has the results.
 *
 *   --only parts | loads | NAME   one half, one part or one load
 *   --quick                       everything tiny: shows that it works, measures nothing
 *   --full                        with 10 million codes where that is asked for
 *   --rounds N  --seconds S       samples of each contestant and their length (default 7 of 2 s)
 *   --previous REV                another revision among the contestants, in a temporary work tree
 *
 * Redirects are drawn too, for README: .github/bench-light.svg and -dark.svg, except with --quick.
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { drawChart, themes } from './chart.ts';
import type { LoadOptions } from './loads/options.ts';
import { loads } from './loads/suite.ts';
import { formatPart, partNames, runPart } from './parts.ts';

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    quick: { type: 'boolean', default: false },
    full: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    previous: { type: 'string' },
  },
});
const options: LoadOptions = {
  isQuick: values.quick,
  isFull: values.full,
  rounds: Number(values.rounds ?? (values.quick ? 1 : 7)),
  seconds: Number(values.seconds ?? (values.quick ? 1 : 2)),
  previous: values.previous,
};

const wanted = (half: string, name: string): boolean =>
  values.only === undefined || values.only === half || values.only === name;
const parts = partNames.filter((name) => wanted('parts', name));
const chosen = Object.entries(loads).filter(([name]) => wanted('loads', name));
if (parts.length + chosen.length === 0) {
  const names = ['parts', 'loads', ...partNames, ...Object.keys(loads)].join(', ');
  console.error(`Cannot run --only ${values.only}: expected one of ${names}`);
  process.exit(2);
}
for (const name of parts) {
  console.log(`\n== ${name}`);
  console.log(formatPart(await runPart(name, options.isQuick ? 'quick' : 'whole')));
}
for (const [name, load] of chosen) {
  console.log(`\n== ${name}`);
  const { text, chart } = await load(options);
  console.log(text);
  if (chart === undefined || options.isQuick) continue;
  for (const [name, theme] of Object.entries(themes)) {
    const file = new URL(`../.github/bench-${name}.svg`, import.meta.url);
    writeFileSync(file, drawChart(chart, theme));
  }
}
