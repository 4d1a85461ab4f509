/** The page that a scan would see, drawn by the service a moment after the last change, light or dark. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { EndedReason } from '../../../model/routing/pages.ts';
import { call } from '../../client/http.ts';
import { type Problem, problemOf } from '../../client/problem.ts';
import { currentSession } from '../../client/session.ts';
import { ChoiceField } from '../../parts/field.tsx';
import { ProblemNotice } from '../../parts/notice.tsx';

interface PreviewProps {
  readonly reason: EndedReason;
  readonly language: string;
  /** The previewed change. */
  readonly patch: object;
}

/** Every preview is a request, sent when typing stops. */
const pauseMs = 400;

const schemes = [
  { value: 'light', label: 'Light' },
  { value: 'dark', label: 'Dark' },
] as const;
type Scheme = (typeof schemes)[number]['value'];

export function PagePreview(props: PreviewProps) {
  const [scheme, setScheme] = useState<Scheme>('light');
  const { html, problem } = usePage(props);
  return (
    <div class="page-preview">
      <ChoiceField legend="Preview" value={scheme} options={schemes} onChange={setScheme} />
      <PageFrame html={html} scheme={scheme} />
      {/* Errors show on save; a half-typed address is not an error yet. */}
      {problem !== undefined && problem.status !== 422 && <ProblemNotice problem={problem} />}
    </div>
  );
}

function usePage({ reason, language, patch }: PreviewProps) {
  const [html, setHtml] = useState('');
  const [problem, setProblem] = useState<Problem>();
  const body = JSON.stringify({ reason, language, ...patch });
  const { id } = currentSession().workspace;
  const show = async (signal: AbortSignal): Promise<void> => {
    try {
      const raw = { data: body, type: 'application/json' };
      const path = `/workspaces/${id}/page-preview`;
      const page = await call<{ readonly html: string }>('POST', path, { raw, signal });
      setHtml(page.html);
      setProblem(undefined);
    } catch (error) {
      if (!signal.aborted) setProblem(problemOf(error));
    }
  };
  useEffect(() => {
    const stopper = new AbortController();
    const timer = setTimeout(() => void show(stopper.signal), html === '' ? 0 : pauseMs);
    return () => {
      clearTimeout(timer);
      stopper.abort();
    };
  }, [id, body]);
  return { html, problem };
}

/** The page's media query for dark mode, which the choice here replaces. */
const darkMedia = '@media(prefers-color-scheme:dark)';

/**
 * A frame without scripts. The dashboard's policy applies to it, so the page's style sheet is added as an object, which
 * the policy allows.
 */
function PageFrame({ html, scheme }: { readonly html: string; readonly scheme: Scheme }) {
  const frame = useRef<HTMLIFrameElement>(null);
  const [, style = ''] = /<style>(.*?)<\/style>/s.exec(html) ?? [];
  const putStyle = (): void => {
    const inside = frame.current?.contentWindow;
    if (inside === null || inside === undefined || style === '') return;
    const sheet = new inside.window.CSSStyleSheet();
    sheet.replaceSync(
      style.replace(darkMedia, scheme === 'dark' ? '@media all' : '@media not all'),
    );
    inside.document.adoptedStyleSheets = [sheet];
  };
  useEffect(putStyle, [scheme]);
  return (
    <iframe
      ref={frame}
      class="page-frame"
      title="The page that a scan would see"
      sandbox="allow-same-origin"
      style={{ colorScheme: scheme }}
      srcdoc={html.replace(/<style>.*?<\/style>/s, '')}
      onLoad={putStyle}
    />
  );
}
