/** Tables as JSON and as complete files: one route for each, from one description. */
import { z } from 'zod';
import { type Cell, csvLine } from '../../model/csv.ts';
import {
  type Call,
  createRoute,
  type KeyedAccess,
  type Result,
  type Route,
  type RouteDescription,
  type StreamedResult,
} from './route.ts';

type FileFormat = 'csv' | 'ndjson';
export type Format = 'json' | FileFormat;

const fileTypes: Readonly<Record<FileFormat, string>> = {
  csv: 'text/csv',
  ndjson: 'application/x-ndjson',
};

interface TableDescription<Q extends z.ZodObject> extends Omit<
  RouteDescription,
  'method' | 'body' | 'samples'
> {
  readonly access: KeyedAccess;
  readonly query: Q;
  /** Parameters that files do not have. */
  readonly jsonOnly: ReadonlyArray<keyof Q['shape'] & string>;
  readonly files: ReadonlyArray<{
    readonly format: FileFormat;
    /** Added to the description. */
    readonly note?: string;
    readonly sample: string;
  }>;
  readonly handle: (
    call: Call<z.output<Q>, undefined>,
    format: Format,
  ) => Promise<Result | StreamedResult>;
}

/** The route that answers JSON, and below it one for each file: `/qr-codes`, `/qr-codes/export.csv`. */
export function tableRoutes<Q extends z.ZodObject>(table: TableDescription<Q>): Route[];
export function tableRoutes(table: TableDescription<z.ZodObject>): Route[] {
  const { files, jsonOnly, handle, ...json } = table;
  const shape = Object.entries(json.query.shape).filter(([name]) => !jsonOnly.includes(name));
  const query = z.object(Object.fromEntries(shape));
  const but = jsonOnly.map((name, at) => `${at === 0 ? ' but' : ','} \`${name}\``).join('');
  const ofFiles = files.map(({ format, note = '', sample }) =>
    createRoute({
      ...json,
      method: 'GET',
      operationId:
        json.operationId.replace(/^(?:get|list)/, 'export') + (format === 'csv' ? '' : 'Lines'),
      path: `${json.path}/export.${format}`,
      summary: `${json.summary} as ${format.toUpperCase()}`,
      description: `All rows of \`${json.operationId}\` as a file, with its parameters${but}.${note}`,
      fileOf: json.operationId,
      query,
      answer: {
        status: 200,
        schema: z.string(),
        what: 'The file',
        mediaTypes: [fileTypes[format]],
        headers: ['Content-Disposition'],
      },
      samples: { answer: { [fileTypes[format]]: sample } },
      handle: (call) => handle(call, format),
    }),
  );
  return [
    createRoute({ ...json, method: 'GET', handle: (call) => handle(call, 'json') }),
    ...ofFiles,
  ];
}

export const csvText = (rows: ReadonlyArray<readonly Cell[]>): string => rows.map(csvLine).join('');

/** @param name of the file, without its ending */
export function csvResult(name: string, rows: ReadonlyArray<readonly Cell[]>): StreamedResult {
  return { status: 200, headers: fileHeaders('csv', name), body: Buffer.from(csvText(rows)) };
}

/** @param name must be of letters, digits, `-`, `_` and dots */
export function fileHeaders(format: FileFormat, name: string): Record<string, string> {
  return {
    'Content-Type':
      format === 'csv' ? 'text/csv; charset=utf-8; header=present' : fileTypes[format],
    'Content-Disposition': `attachment; filename="${name}.${format}"`,
  };
}
