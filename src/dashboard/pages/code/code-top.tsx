/** A code's picture, its short link, where it leads. */
import { formatNumber } from '../../client/format.ts';
import { may } from '../../client/session.ts';
import type { QrCode } from '../../client/wire.ts';
import { Button } from '../../parts/button.tsx';
import { CodeImage } from '../../parts/code-image.tsx';
import { CopyButton } from '../../parts/copy.tsx';
import { Badge, Fact } from '../../parts/list.tsx';
import { Card } from '../../parts/page.tsx';
import { Time } from '../../parts/time.tsx';
import { ShortLink } from '../codes/codes-table.tsx';

interface CodeTopProps {
  readonly code: QrCode;
  readonly onRetarget: () => void;
}

const pictureSize = 232;

export function CodeTop({ code, onRetarget }: CodeTopProps) {
  return (
    <Card>
      <div class="code-top">
        <div class="code-top-image">
          <CodeImage url={code.imageUrl} size={pictureSize} alt="The QR code" />
        </div>
        <div class="stack">
          {code.shortUrl !== undefined && <ShortLink url={code.shortUrl} />}
          <dl class="facts">
            <Fact label={code.dynamic ? 'Leads to' : 'Says'}>
              <TargetText code={code} />
              {code.dynamic && may('editor') && (
                <p>
                  <Button size="small" icon="edit" onClick={onRetarget}>
                    Change where it leads
                  </Button>
                </p>
              )}
            </Fact>
            {code.dynamic && (
              <Fact label="Scans">
                <span class="number">{formatNumber(code.scans)}</span>
                <Limit code={code} />
              </Fact>
            )}
            {code.expiresAt !== null && (
              <Fact label="Ends">
                <Time iso={code.expiresAt} style="full" />
              </Fact>
            )}
            {code.tags.length > 0 && (
              <Fact label="Tags">
                <span class="tags">
                  {code.tags.map((tag) => (
                    <Badge key={tag}>{tag}</Badge>
                  ))}
                </span>
              </Fact>
            )}
            <Fact label="Changed">
              <Time iso={code.updatedAt} />
            </Fact>
          </dl>
        </div>
      </div>
    </Card>
  );
}

function TargetText({ code }: { readonly code: QrCode }) {
  if (code.type !== 'url') {
    return (
      <span class="code-address">
        <code>{code.target}</code>
        <CopyButton text={code.target} label="Copy the text" />
      </span>
    );
  }
  return (
    <span class="code-address">
      <a href={code.target} target="_blank" rel="noreferrer">
        {code.target}
      </a>
      <CopyButton text={code.target} label="Copy the address" />
    </span>
  );
}

/** Whether the code still redirects. */
function Limit({ code }: { readonly code: QrCode }) {
  const { scanLimit, scans } = code;
  if (scanLimit === null) return null;
  const isOver = scans >= scanLimit;
  return (
    <>
      {' of '}
      <span class="number">{formatNumber(scanLimit)}</span>{' '}
      {isOver && <Badge tone="bad">Limit reached</Badge>}
    </>
  );
}
