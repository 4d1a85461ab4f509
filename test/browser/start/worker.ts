/** Evaluated before each file of a browser: the first finds the browser and the service of its worker running. */
import { startShared } from '../harness.ts';

await startShared();
