/** Codes as rows; a narrow screen shows the most important columns. */
import { formatNumber, formatShort, shortAddress } from '../../client/format.ts';
import { setQuery } from '../../client/router.ts';
import type { QrCodeItem } from '../../client/wire.ts';
import { CodeImage } from '../../parts/code-image.tsx';
import { CopyButton } from '../../parts/copy.tsx';
import { Time } from '../../parts/time.tsx';
import { pathTo } from '../../paths.ts';
import { StatusBadge } from './code-status.tsx';
import { typeLabel } from './code-types.ts';

const pictureSize = 44;
const tagsShown = 3;
const columns = [
  ['Code', 'col-code'],
  ['Destination', 'col-target hide-narrow'],
  ['Tags', 'col-tags hide-narrow'],
  ['Scans', 'col-scans end'],
  ['Created', 'col-date hide-narrow'],
] as const;

export function CodesTable({ codes }: { readonly codes: readonly QrCodeItem[] }) {
  return (
    <div class="card card-flush">
      <table class="table codes-table">
        <caption class="unseen">Codes</caption>
        <thead>
          <tr>
            {columns.map(([label, className]) => (
              <th key={label} class={className} scope="col">
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {codes.map((code) => (
            <CodeRow key={code.id} code={code} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

export const nameOf = ({ name, target }: Pick<QrCodeItem, 'name' | 'target'>): string =>
  name ?? shortAddress(target);

function CodeRow({ code }: { readonly code: QrCodeItem }) {
  const { id, type, target, scans, createdAt, dynamic, shortUrl, imageUrl, tags, status } = code;
  return (
    <tr>
      <td>
        <div class="code-cell">
          <CodeImage url={imageUrl} size={pictureSize} />
          <div class="code-cell-text">
            <div class="code-cell-title">
              <a class="row-title" dir="auto" href={pathTo('code', { id })}>
                {nameOf(code)}
              </a>
              <StatusBadge status={status} />
            </div>
            <span class="row-sub one-line">
              {shortUrl === undefined ? `Static · ${typeLabel(type)}` : shortAddress(shortUrl)}
            </span>
          </div>
        </div>
      </td>
      <td class="hide-narrow">
        <span class="one-line row-sub" title={target}>
          {shortAddress(target)}
        </span>
      </td>
      <td class="hide-narrow">
        <span class="tags">
          {tags.slice(0, tagsShown).map((tag) => (
            <button
              key={tag}
              type="button"
              class="badge badge-button"
              title={`Show codes with the tag ${tag}`}
              onClick={() => setQuery({ tag, page: undefined })}
            >
              <span class="one-line" dir="auto">
                {tag}
              </span>
            </button>
          ))}
          {tags.length > tagsShown && <span class="soft">+{tags.length - tagsShown}</span>}
        </span>
      </td>
      <td
        class="number"
        title={dynamic ? formatNumber(scans) : 'Scans of static codes are not counted'}
      >
        {dynamic ? formatShort(scans) : <span class="soft">—</span>}
      </td>
      <td class="hide-narrow soft">
        <Time iso={createdAt} />
      </td>
    </tr>
  );
}

/** A short link with its copy button. */
export function ShortLink({ url }: { readonly url: string }) {
  return (
    <span class="code-address">
      <a class="short-url" href={url} target="_blank" rel="noreferrer">
        {shortAddress(url)}
      </a>
      <CopyButton text={url} label="Copy the short link" />
    </span>
  );
}
