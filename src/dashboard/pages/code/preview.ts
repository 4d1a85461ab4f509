/** The preview of an unsaved design, drawn by the service a moment after the last change. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { send } from '../../client/http.ts';
import { type Problem, problemOf } from '../../client/problem.ts';
import { useRetry } from '../../client/use-retry.ts';
import type { Design } from '../../../model/design.ts';
import type { QrCode } from '../../client/wire.ts';
import { ownImage } from '../../parts/code-image.tsx';

export interface Preview {
  readonly url: string;
  readonly status: 'scannable' | 'unscannable' | 'unknown';
  readonly problem: Problem | undefined;
  readonly isBusy: boolean;
  /** Requests the preview again. */
  readonly redraw: () => void;
}

/** Every preview is a request and a drawing: a drag in a color picker requests one when it stops. */
const pauseMs = 350;
const size = 520;

export function usePreview(code: QrCode, design: Design): Preview {
  const plain = ownImage(code.imageUrl, 'svg');
  const [preview, setPreview] = useState<Omit<Preview, 'redraw'>>({
    url: plain,
    status: 'unknown',
    problem: undefined,
    isBusy: false,
  });
  const [tries, setTries] = useState(0);
  const drawn = useRef('');
  useEffect(() => () => URL.revokeObjectURL(drawn.current), []);
  const text = JSON.stringify(design);
  const show = async (signal: AbortSignal): Promise<void> => {
    try {
      const blob = await draw(code.id, design, signal);
      URL.revokeObjectURL(drawn.current);
      drawn.current = URL.createObjectURL(blob);
      setPreview({ url: drawn.current, status: 'scannable', problem: undefined, isBusy: false });
    } catch (error) {
      if (signal.aborted) return;
      const problem = problemOf(error);
      const status = problem.status === 422 ? 'unscannable' : 'unknown';
      setPreview((before) => ({ url: before.url, status, problem, isBusy: false }));
    }
  };
  useEffect(() => {
    const stopper = new AbortController();
    const timer = setTimeout(() => {
      setPreview((before) => ({ ...before, isBusy: true }));
      void show(stopper.signal);
    }, pauseMs);
    return () => {
      clearTimeout(timer);
      stopper.abort();
    };
  }, [code.id, text, tries]);
  const redraw = (): void => setTries(tries + 1);
  useRetry(preview.problem, redraw);
  return { ...preview, redraw };
}

async function draw(id: string, design: Design, signal: AbortSignal): Promise<Blob> {
  const body = { id, design, format: 'png', size };
  const response = await send('POST', '/qr-codes/preview', { body, signal, accept: 'image/png' });
  return await response.blob();
}
