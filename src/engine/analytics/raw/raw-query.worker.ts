/** Thread entry of queries over raw scans, at the lowest priority. */
import { lowestPriority, threadEntry } from '../../../platform/workers/entry.ts';
import { runRawTask } from './raw-task.ts';

export default threadEntry(runRawTask, lowestPriority);
