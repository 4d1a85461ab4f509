/** The image of a code as a file: pixels for screens, millimeters for print. */
import { currentSession } from '../../client/session.ts';
import type { QrCode } from '../../client/wire.ts';
import { ownImage } from '../../parts/code-image.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Menu } from '../../parts/menu.tsx';

interface Kind {
  readonly format: string;
  readonly label: string;
  readonly use: string;
  /** Sizes in the image's address; absent = scales to any size. */
  readonly sizes?: {
    readonly parameter: 'size' | 'mm';
    readonly unit: string;
    readonly of: readonly number[];
  };
}

const pixels = { parameter: 'size', unit: 'px', of: [512, 1_024, 2_048, 4_096] } as const;
const millimetres = { parameter: 'mm', unit: 'mm', of: [30, 50, 100, 200] } as const;

const kinds: readonly Kind[] = [
  { format: 'pdf', label: 'PDF', use: 'for print', sizes: millimetres },
  { format: 'png', label: 'PNG', use: 'for screens', sizes: pixels },
  { format: 'svg', label: 'SVG', use: 'vector, any size' },
  { format: 'eps', label: 'EPS', use: 'for print shops', sizes: millimetres },
  { format: 'webp', label: 'WebP', use: 'smallest file', sizes: pixels },
];

/** Without the version: browsers would cache the file, with the code's current name, for a year. */
function fileUrl(imageUrl: string, format: string, size: string): string {
  const [path] = ownImage(imageUrl, format).split('?');
  return `${path}?${size}download=1`;
}

export function DownloadMenu({ code }: { readonly code: QrCode }) {
  const button = (
    <>
      <Icon name="download" />
      <span>Download</span>
    </>
  );
  return (
    <Menu button={button}>
      {code.shortUrl !== undefined && <LocalWarning />}
      {kinds.map((kind) => (
        <KindOfFile key={kind.format} kind={kind} imageUrl={code.imageUrl} />
      ))}
    </Menu>
  );
}

function KindOfFile({ kind, imageUrl }: { readonly kind: Kind; readonly imageUrl: string }) {
  const { format, label, use, sizes } = kind;
  return (
    <div class="download-kind" role="group" aria-label={`${label}, ${use}`}>
      <p>
        <strong>{label}</strong> {use}
        {sizes !== undefined && `, ${sizes.unit}`}
      </p>
      <div class="download-sizes">
        {sizes === undefined ? (
          <a class="download-size" href={fileUrl(imageUrl, format, '')} download="">
            <span class="unseen">{label} </span>Save
          </a>
        ) : (
          sizes.of.map((size) => (
            <a
              key={size}
              class="download-size"
              href={fileUrl(imageUrl, format, `${sizes.parameter}=${size}&`)}
              download=""
            >
              <span class="unseen">{label} </span>
              {size}
              <span class="unseen"> {sizes.unit}</span>
            </a>
          ))
        )}
      </div>
    </div>
  );
}

/** A print cannot change its address. */
function LocalWarning() {
  if (!currentSession().shortLinks.local) return null;
  return (
    <p class="menu-note">
      <Icon name="warning" size={16} />
      <span>Do not print it yet: phones cannot open its address. See the notice above.</span>
    </p>
  );
}
