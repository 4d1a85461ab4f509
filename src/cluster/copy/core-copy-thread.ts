/** What the control thread and the thread that copies a core's data send each other. */
import type { CopyManifest } from './copy-manifest.ts';

export interface CoreCopySetup {
  /** The data folder, and where its copy is made. */
  readonly path: string;
  readonly draft: string;
}

/** Ends it: what it has copied is of no use. */
export type CoreCopyCommand = 'stop';

export type CoreCopyMessage =
  | { readonly kind: 'copying'; readonly bytes: number; readonly of: number }
  | ({ readonly kind: 'made' } & Pick<CopyManifest, 'data' | 'files'>)
  | { readonly kind: 'failed'; readonly detail: string };
