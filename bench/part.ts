/** One part in its own process: prints its rows as one line of JSON. `node part.ts FILE [--quick]` */
import { pathToFileURL } from 'node:url';
import type { Part } from './parts.ts';

const [file = ''] = process.argv.slice(2);
const part = (await import(pathToFileURL(file).href)) as Part;
const rows = await part.run({ quick: process.argv.includes('--quick') });
process.stdout.write(`${JSON.stringify({ question: part.question, rows })}\n`, () =>
  process.exit(0),
);
