/** The hostile receivers as a process of their own: opens each, sends the URLs to its parent, and ends with it. */
import { hostileReceivers, openHostile } from './hostile-receivers.ts';

const [canary = ''] = process.argv.slice(2);
const urls = await Promise.all(hostileReceivers(canary).map(openHostile));
process.send?.(urls);
process.once('disconnect', () => process.exit());
