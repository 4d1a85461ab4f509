/** The zoo as a process of its own: opens every species, tells its parent where, and ends with it. */
import { cage, species } from './hostile-receivers.ts';

const [canary = ''] = process.argv.slice(2);
const urls = await Promise.all(species(canary).map(cage));
process.send?.(urls);
process.once('disconnect', () => process.exit());
