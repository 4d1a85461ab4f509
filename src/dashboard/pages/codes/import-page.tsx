/** Imports codes from a file, and shows the rows that failed. */
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { formatBytes, formatNumber, plural } from '../../client/format.ts';
import { send } from '../../client/http.ts';
import { type Problem, problemOf } from '../../client/problem.ts';
import { invalidate } from '../../client/resource.ts';
import { saveBlob } from '../../client/download.ts';
import { Button, ButtonLink } from '../../parts/button.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Notice, ProblemNotice } from '../../parts/notice.tsx';
import { Card, Page } from '../../parts/page.tsx';
import { Table } from '../../parts/table.tsx';
import { pathTo } from '../../paths.ts';

const types: Readonly<Record<string, string>> = {
  csv: 'text/csv',
  json: 'application/json',
  ndjson: 'application/x-ndjson',
  jsonl: 'application/x-ndjson',
};
const bytesMax = 16_777_216;

interface BulkResult {
  readonly created: number;
  readonly failed: number;
  /** The first 200. */
  readonly errors: ReadonlyArray<{
    readonly index: number;
    readonly code: string;
    readonly detail: string;
  }>;
}

type Stage =
  | { readonly kind: 'choose'; readonly fault?: string }
  | { readonly kind: 'work'; readonly name: string }
  | { readonly kind: 'done'; readonly name: string; readonly result: BulkResult | Problem };

export function ImportPage() {
  const [stage, setStage] = useState<Stage>({ kind: 'choose' });
  const place = useRef<HTMLDivElement>(null);
  // The focused element disappears with its step.
  useEffect(() => {
    if (stage.kind !== 'choose') place.current?.focus();
  }, [stage.kind]);
  const begin = async (file: File): Promise<void> => {
    const type = types[file.name.split('.').at(-1)?.toLowerCase() ?? ''];
    if (type === undefined) {
      return setStage({
        kind: 'choose',
        fault: 'Choose a .csv, .json or .ndjson file.',
      });
    }
    if (file.size > bytesMax) {
      const fault = `The file has ${formatBytes(file.size)}. Choose one of at most ${formatBytes(bytesMax)}, or import it from the command line.`;
      return setStage({ kind: 'choose', fault });
    }
    const { name } = file;
    setStage({ kind: 'work', name });
    const result = await createMany(file, type).catch(problemOf);
    setStage({ kind: 'done', name, result });
    invalidate('/qr-codes', '/analytics');
  };
  return (
    <Page title="Import codes" back={{ href: pathTo('codes'), label: 'Codes' }}>
      <div class="stack page-narrow" ref={place} tabIndex={-1}>
        {stage.kind === 'choose' && (
          <Choose fault={stage.fault} onFile={(file) => void begin(file)} />
        )}
        {stage.kind === 'work' && <Work name={stage.name} />}
        {stage.kind === 'done' && (
          <Done stage={stage} onAgain={() => setStage({ kind: 'choose' })} />
        )}
        <Format />
      </div>
    </Page>
  );
}

interface Answer {
  readonly created: number;
  readonly failed: number;
  readonly results: ReadonlyArray<{
    readonly index: number;
    readonly error?: {
      readonly code: string;
      readonly detail: string;
      readonly errors?: ReadonlyArray<{ readonly path: string; readonly message: string }>;
    };
  }>;
}

const errorsShownMax = 200;

/**
 * Sends the file unchanged.
 * @throws Problem
 */
async function createMany(data: File, type: string): Promise<BulkResult> {
  const response = await send('POST', '/qr-codes/bulk', { raw: { data, type } });
  const { created, failed, results }: Answer = await response.json();
  const errors = results.flatMap(({ index, error }) => {
    if (error === undefined) return [];
    const faults = error.errors?.map(({ path, message }) => `${path}: ${message}`).join('. ');
    return [{ index, code: error.code, detail: faults || error.detail }];
  });
  return { created, failed, errors: errors.slice(0, errorsShownMax) };
}

interface ChooseProps {
  readonly fault: string | undefined;
  readonly onFile: (file: File) => void;
}

function Choose({ fault, onFile }: ChooseProps) {
  const id = useId();
  const [isOver, setOver] = useState(false);
  const take = (file: File | undefined | null): void => {
    if (file !== undefined && file !== null) onFile(file);
  };
  return (
    <div
      class={`drop${isOver ? ' drop-over' : ''}`}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        take(event.dataTransfer?.files[0]);
      }}
    >
      <Icon name="upload" size={28} />
      <label for={id}>
        <b>Choose a file, or drop it here</b>
      </label>
      <input
        id={id}
        class="input file-input"
        type="file"
        accept=".csv,.json,.ndjson,.jsonl"
        onChange={(event) => take(event.currentTarget.files?.[0])}
      />
      {fault !== undefined && (
        <p class="field-fault" role="alert">
          {fault}
        </p>
      )}
    </div>
  );
}

function Work({ name }: { readonly name: string }) {
  return (
    <Card title={`Importing ${name}`}>
      <div class="form">
        <progress class="progress" aria-label="Progress" />
        <p class="soft">10,000 rows take some seconds. You can keep working on other pages.</p>
      </div>
    </Card>
  );
}

interface DoneProps {
  readonly stage: Stage & { readonly kind: 'done' };
  readonly onAgain: () => void;
}

function Done({ stage: { name, result }, onAgain }: DoneProps) {
  return (
    <Card title={name}>
      <div class="form">
        {'errors' in result ? <Result {...result} /> : <ProblemNotice problem={result} />}
        <div class="form-foot">
          <ButtonLink tone="accent" href={pathTo('codes')}>
            View codes
          </ButtonLink>
          <Button onClick={onAgain}>Import another file</Button>
        </div>
      </div>
    </Card>
  );
}

function Result({ created, failed, errors }: BulkResult) {
  return (
    <>
      <Notice tone={failed === 0 ? 'good' : 'warn'} title={`${plural(created, 'code')} created`}>
        {failed > 0 && <p>{plural(failed, 'row')} failed.</p>}
      </Notice>
      {errors.length > 0 && (
        <Table caption="Rows that failed" columns={['Row', 'Why']}>
          {errors.map(({ index, code, detail }) => (
            <tr key={index}>
              <td class="number">{formatNumber(index + 1)}</td>
              <td>
                {detail} <span class="soft">({code})</span>
              </td>
            </tr>
          ))}
        </Table>
      )}
      {failed > errors.length && (
        <p class="soft">And {formatNumber(failed - errors.length)} more.</p>
      )}
    </>
  );
}

const example = `target,name,tags,slug
https://example.com/menu,Table 1,menu;berlin,
https://example.com/menu,Table 2,menu;berlin,
https://example.com/summer,Poster,summer,summer-26
`;

function Format() {
  const save = (): void => saveBlob(new Blob([example], { type: 'text/csv' }), 'codes-example.csv');
  return (
    <Card
      title="File format"
      actions={
        <Button size="small" icon="download" onClick={save}>
          Example
        </Button>
      }
    >
      <div class="prose">
        <p>
          A CSV file with a header row and up to 10,000 rows. <code>target</code> is required;
          optional are <code>type</code>, <code>dynamic</code>, <code>name</code>, <code>slug</code>
          , <code>tags</code> (separated by <code>;</code>), <code>campaignIds</code>,{' '}
          <code>expiresAt</code>, <code>scanLimit</code>, <code>externalId</code> and{' '}
          <code>metadata.…</code>. JSON lists and NDJSON work too.
        </p>
        <p class="soft">
          Rows with errors are skipped. For millions of rows, and for exports from Bitly, Dub,
          Shlink, Kutt and YOURLS, run <code>quietzone import</code> on the server.
        </p>
      </div>
    </Card>
  );
}
