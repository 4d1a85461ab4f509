/** Imports codes from a file, with progress and every failed row. */
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { type BulkProgress, createMany, estimateRows } from '../../client/bulk.ts';
import { formatBytes, formatNumber, plural } from '../../client/format.ts';
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

type Stage =
  | { readonly kind: 'choose'; readonly fault?: string }
  | { readonly kind: 'work'; readonly name: string; readonly rows: number | undefined }
  | { readonly kind: 'done'; readonly name: string; readonly problem?: Problem };

export function ImportPage() {
  const [stage, setStage] = useState<Stage>({ kind: 'choose' });
  const [progress, setProgress] = useState<BulkProgress>({ created: 0, failed: 0, errors: [] });
  const stopper = useRef<AbortController | undefined>(undefined);
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
        fault: 'Expected a file that ends in .csv, .json or .ndjson.',
      });
    }
    if (file.size > bytesMax) {
      const fault = `The file has ${formatBytes(file.size)}, expected at most ${formatBytes(bytesMax)}. Import larger files from the command line.`;
      return setStage({ kind: 'choose', fault });
    }
    setProgress({ created: 0, failed: 0, errors: [] });
    setStage({ kind: 'work', name: file.name, rows: await estimateRows(file, type) });
    stopper.current = new AbortController();
    try {
      await createMany({ data: file, type }, setProgress, stopper.current.signal);
      setStage({ kind: 'done', name: file.name });
    } catch (error) {
      setStage({ kind: 'done', name: file.name, problem: problemOf(error) });
    }
    invalidate('/qr-codes', '/analytics');
  };
  return (
    <Page title="Import codes" back={{ href: pathTo('codes'), label: 'Codes' }}>
      <div class="stack page-narrow" ref={place} tabIndex={-1}>
        {stage.kind === 'choose' && (
          <Choose fault={stage.fault} onFile={(file) => void begin(file)} />
        )}
        {stage.kind === 'work' && <Work stage={stage} progress={progress} />}
        {stage.kind === 'done' && (
          <Done stage={stage} progress={progress} onAgain={() => setStage({ kind: 'choose' })} />
        )}
        <Format />
      </div>
    </Page>
  );
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

interface WorkProps {
  readonly stage: Stage & { readonly kind: 'work' };
  readonly progress: BulkProgress;
}

function Work({ stage: { name, rows }, progress: { created, failed } }: WorkProps) {
  const done = created + failed;
  const fraction = rows === undefined || rows === 0 ? undefined : Math.min(1, done / rows);
  return (
    <Card title={`Importing ${name}`}>
      <div class="form">
        <progress class="progress" value={fraction} max={1} aria-label="Progress" />
        <p class="number" aria-live="polite">
          {formatNumber(done)}
          {rows === undefined ? '' : ` of about ${formatNumber(rows)}`} rows
          {failed > 0 && `, ${formatNumber(failed)} failed`}
        </p>
        <p class="soft">You can keep working on other pages.</p>
      </div>
    </Card>
  );
}

interface DoneProps {
  readonly stage: Stage & { readonly kind: 'done' };
  readonly progress: BulkProgress;
  readonly onAgain: () => void;
}

function Done({ stage: { name, problem }, progress, onAgain }: DoneProps) {
  const { created, failed, errors } = progress;
  return (
    <Card title={name}>
      <div class="form">
        {problem !== undefined && <ProblemNotice problem={problem} />}
        {(created > 0 || problem === undefined) && (
          <Notice
            tone={failed === 0 ? 'good' : 'warn'}
            title={`${plural(created, 'code')} created`}
          >
            {failed > 0 && <p>{plural(failed, 'row')} failed and were skipped.</p>}
          </Notice>
        )}
        {errors.length > 0 && (
          <>
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
            {failed > errors.length && (
              <p class="soft">And {formatNumber(failed - errors.length)} more.</p>
            )}
          </>
        )}
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

const example = `target,name,tags,slug
https://example.com/menu,Table 1,menu;berlin,
https://example.com/menu,Table 2,menu;berlin,
https://example.com/summer,Poster,summer,summer-26
`;

function Format() {
  const save = (): void => saveBlob(new Blob([example], { type: 'text/csv' }), 'codes-example.csv');
  return (
    <Card
      title="What the file looks like"
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
          A bad row does not stop the others. For millions of rows, and for exports from Bitly, Dub,
          Shlink, Kutt and YOURLS, run <code>quietzone import</code> on the server.
        </p>
      </div>
    </Card>
  );
}
