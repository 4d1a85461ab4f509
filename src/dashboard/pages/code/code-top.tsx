/** A code's image, short link and destination. */
import { formatNumber } from '../../client/format.ts';
import { may } from '../../client/session.ts';
import type { QrCode } from '../../client/wire.ts';
import { Button } from '../../parts/button.tsx';
import { CodeImage } from '../../parts/code-image.tsx';
import { CopyButton } from '../../parts/copy.tsx';
import { Badge, Fact } from '../../parts/list.tsx';
import { Card } from '../../parts/page.tsx';
import { Time } from '../../parts/time.tsx';
import { CampaignsFact } from './campaigns-fact.tsx';
import { otherRoutes } from './other-routes.ts';
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
        {code.shortUrl !== undefined && (
          <div class="code-top-link">
            <ShortLink url={code.shortUrl} />
          </div>
        )}
        <dl class="facts code-top-facts">
          <Fact label={code.dynamic ? 'Destination' : 'Content'}>
            <TargetText code={code} />
            <RulesLink code={code} />
            {code.dynamic && may('editor') && (
              <p>
                <Button size="small" icon="edit" onClick={onRetarget}>
                  Change destination
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
            <Fact label="Expires">
              <Time iso={code.expiresAt} style="full" />
            </Fact>
          )}
          <CampaignsFact code={code} />
          {code.tags.length > 0 && (
            <Fact label="Tags">
              <span class="tags">
                {code.tags.map((tag) => (
                  <Badge key={tag}>
                    <span class="one-line" dir="auto">
                      {tag}
                    </span>
                  </Badge>
                ))}
              </span>
            </Fact>
          )}
          <Fact label="Updated">
            <Time iso={code.updatedAt} />
          </Fact>
        </dl>
      </div>
    </Card>
  );
}

/** A note that rules send some people elsewhere, with a link. */
function RulesLink({ code }: { readonly code: QrCode }) {
  const other = otherRoutes(code, code.target);
  return (
    other && (
      <p>
        <a href={other.address}>{other.text}</a>
      </p>
    )
  );
}

function TargetText({ code }: { readonly code: QrCode }) {
  if (code.type !== 'url') {
    return (
      <span class="code-address">
        <code class="clamp" title={code.target}>
          {code.target}
        </code>
        <CopyButton text={code.target} label="Copy the content" />
      </span>
    );
  }
  return (
    <span class="code-address">
      <a class="clamp" href={code.target} target="_blank" rel="noreferrer" title={code.target}>
        {code.target}
      </a>
      <CopyButton text={code.target} label="Copy the destination" />
    </span>
  );
}

/** The scan limit, and whether it is reached. */
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
