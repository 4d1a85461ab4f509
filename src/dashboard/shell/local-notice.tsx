/**
 * Shown while short links begin with `localhost`: no phone can open the codes, and a print keeps its address for good.
 * On every page, in one line until it is opened.
 */
import { shortAddress } from '../client/format.ts';
import { currentSession } from '../client/session.ts';
import { CopyLine } from '../parts/copy.tsx';
import { Icon } from '../parts/icon.tsx';

/** Stands for an address that only the operator knows. */
const sampleHost = '192.168.1.20';
const localHosts = /^(localhost|.*\.localhost|127\..*|\[::1\]|0\.0\.0\.0)$/;

/** Phones can use the address that this page was opened at, unless it is a local one. */
function suggestion(base: string): string {
  const url = new URL(base);
  url.hostname = localHosts.test(location.hostname) ? sampleHost : location.hostname;
  return url.href.replace(/\/$/, '');
}

export function LocalNotice() {
  const { base, local } = currentSession().shortLinks;
  if (!local) return null;
  return (
    <details class="local-notice">
      <summary>
        <Icon name="warning" size={16} />
        <span>
          No phone can open codes at <b>{shortAddress(base)}</b>.{' '}
          <span class="local-more">What to do</span>
        </span>
      </summary>
      <div class="prose">
        <p>
          On a phone, that address is the phone itself. Before you print, the operator gives short
          links an address in your network or on the web with this setting, and starts the service
          again:
        </p>
        <CopyLine
          text={`QZ_SHORT_URL_BASE=${suggestion(base)}`}
          label="the setting of the address"
        />
        <p>
          The images here follow the new address. Codes that are already printed keep the one they
          were printed with. The terminal of the service names the addresses of its machine.
        </p>
      </div>
    </details>
  );
}
