/** Thread entry of the image pool: one task in, its result out. */
import { threadEntry } from '../../platform/workers/entry.ts';
import { runTask } from './tasks.ts';

export default threadEntry(runTask);
