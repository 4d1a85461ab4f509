/** Thread entry of the image pool: one task in, its result out. */
import { threadEntry } from '../workers/entry.ts';
import { perform } from './work.ts';

export default threadEntry(perform);
