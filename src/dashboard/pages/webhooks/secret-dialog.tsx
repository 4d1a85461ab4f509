/** A signing secret, shown once. */
import { SecretDialog } from '../../parts/dialog.tsx';

interface SecretProps {
  readonly secret: string;
  readonly onClose: () => void;
}

export function SigningSecret({ secret, onClose }: SecretProps) {
  return (
    <SecretDialog
      title="Your signing secret"
      secret={secret}
      label="the signing secret"
      onClose={onClose}
    >
      Use it to verify that requests come from here.{' '}
      <a href="/docs/webhooks" target="_blank" rel="noreferrer">
        How to verify
      </a>
    </SecretDialog>
  );
}
