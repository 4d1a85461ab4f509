/** Thread entry of queries over raw scans. Everything else comes first: it takes what CPU time the others leave. */
import { lowestPriority, threadEntry } from '../../../workers/entry.ts';
import { runRawTask } from './raw-task.ts';

export default threadEntry(runRawTask, lowestPriority);
