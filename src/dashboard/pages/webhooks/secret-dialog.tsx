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
    <Dialog title="The signing secret" onClose={onClose}>
      <div class="dialog-form">
        <Notice tone="warn" title="It is shown this once">
          <p>
            Your program checks with it that a request comes from here:{' '}
            <a href="/docs/webhooks" target="_blank" rel="noreferrer">
              how
            </a>
            .
          </p>
        </Notice>
        <CopyLine text={secret} label="the signing secret" />
        <footer class="dialog-foot">
          <Button tone="accent" onClick={onClose}>
            I have it
          </Button>
        </footer>
      </div>
    </Dialog>
  );
}
