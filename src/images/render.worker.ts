/** Thread entry of the image pool: one request in, the image's bytes out. */
import { threadEntry } from '../workers/entry.ts';
import { draw } from './drawing.ts';

export default threadEntry(draw);
