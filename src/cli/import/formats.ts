/** What may have written the file of an import. */
import { vendorFormats } from '../../codes/bulk/vendor-exports.ts';

export const importFormats = ['auto', 'csv', 'ndjson', ...vendorFormats] as const;
export type ImportFormat = (typeof importFormats)[number];
