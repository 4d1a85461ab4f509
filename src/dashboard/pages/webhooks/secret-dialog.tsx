/** A signing secret, shown once. */
import { Button } from '../../parts/button.tsx';
import { CopyLine } from '../../parts/copy.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Notice } from '../../parts/notice.tsx';

interface SecretProps {
  readonly secret: string;
  readonly onClose: () => void;
}

export function SecretDialog({ secret, onClose }: SecretProps) {
  return (
    <Dialog title="Your signing secret" onClose={onClose}>
      <div class="dialog-form">
        <Notice tone="warn" title="Shown only once">
          <p>
            Use it to verify that requests come from here.{' '}
            <a href="/docs/webhooks" target="_blank" rel="noreferrer">
              How to verify
            </a>
          </p>
        </Notice>
        <CopyLine text={secret} label="the signing secret" />
        <footer class="dialog-foot">
          <Button tone="accent" onClick={onClose}>
            I have saved it
          </Button>
        </footer>
      </div>
    </Dialog>
  );
}
