/** Pauses a code and lets it go on: at once, for every print. */
import { useState } from 'preact/hooks';
import { call } from '../../client/http.ts';
import { invalidate, storeAnswer } from '../../client/resource.ts';
import type { QrCode } from '../../client/wire.ts';
import { Button } from '../../parts/button.tsx';
import { say, sayProblem } from '../../parts/toast.tsx';

export function PauseButton({ code: { id, paused } }: { readonly code: QrCode }) {
  const [isBusy, setBusy] = useState(false);
  const change = async (): Promise<void> => {
    setBusy(true);
    try {
      const body = { paused: !paused };
      storeAnswer(`/qr-codes/${id}`, await call<QrCode>('PATCH', `/qr-codes/${id}`, { body }));
      invalidate('/qr-codes?', '/events');
      say(paused ? 'The code works again.' : 'Paused. No print works until you resume it.');
    } catch (error) {
      sayProblem(error);
    }
    setBusy(false);
  };
  return (
    <Button
      icon={paused ? 'play' : 'pause'}
      tone={paused ? 'accent' : 'plain'}
      isBusy={isBusy}
      onClick={() => void change()}
    >
      {paused ? 'Resume' : 'Pause'}
    </Button>
  );
}
