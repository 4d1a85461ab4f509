/** The parts of every page: title and actions, cards, and skeletons while data loads. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { Resource } from '../client/resource.ts';
import { Icon } from './icon.tsx';
import { ProblemNotice } from './notice.tsx';

interface PageProps {
  readonly title: string;
  readonly lead?: ComponentChildren;
  readonly actions?: ComponentChildren;
  readonly back?: { readonly href: string; readonly label: string };
  readonly children: ComponentChildren;
}

/** Sets the tab's title, and focuses the heading after navigation. */
export function Page({ title, lead, actions, back, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Quietzone`;
  }, [title]);
  useEffect(() => {
    // The page's first field or a dialog may have the focus already.
    const isTaken = document.activeElement instanceof HTMLInputElement;
    if (!isTaken && document.querySelector('dialog[open]') === null) {
      heading.current?.focus({ preventScroll: true });
    }
  }, []);
  return (
    <div class="page">
      <header class="page-head">
        <div class="page-titles">
          {back !== undefined && (
            <a class="page-back" href={back.href}>
              <Icon name="left" size={16} />
              {back.label}
            </a>
          )}
          <h1 ref={heading} tabIndex={-1} dir="auto">
            {title}
          </h1>
        </div>
        {actions !== undefined && <div class="page-actions">{actions}</div>}
        {lead !== undefined && <div class="page-lead">{lead}</div>}
      </header>
      {children}
    </div>
  );
}

interface CardProps {
  readonly title?: string;
  readonly lead?: ComponentChildren;
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
  readonly class?: string;
}

export function Card({ title, lead, actions, children, class: more = '' }: CardProps) {
  const hasHead = title !== undefined || actions !== undefined;
  return (
    <section class={`card ${more}`}>
      {hasHead && (
        <header class="card-head">
          <div>
            {title !== undefined && <h2 dir="auto">{title}</h2>}
            {lead !== undefined && <p class="card-lead">{lead}</p>}
          </div>
          {actions !== undefined && <div class="card-actions">{actions}</div>}
        </header>
      )}
      {children}
    </section>
  );
}

interface SkeletonProps {
  readonly lines?: number;
  /** Of a single block, in pixels. */
  readonly height?: number;
  /** Of a table. */
  readonly rows?: number;
}

/** A placeholder of about the size and shape of the content. */
export function Skeleton({ lines = 3, height, rows }: SkeletonProps) {
  if (rows !== undefined) return <SkeletonRows rows={rows} />;
  return (
    <div class="skeleton" aria-hidden="true">
      {height === undefined ? (
        Array.from({ length: lines }, (_, index) => <span key={index} class="skeleton-line" />)
      ) : (
        <span class="skeleton-block" style={{ height: `${height}px` }} />
      )}
    </div>
  );
}

function SkeletonRows({ rows }: { readonly rows: number }) {
  return (
    <div class="skeleton-rows" aria-hidden="true">
      {Array.from({ length: rows }, (_, index) => (
        <div key={index} class="skeleton-row">
          <span class="skeleton-line" />
          <span class="skeleton-line" />
          <span class="skeleton-line" />
          <span class="skeleton-line" />
        </div>
      ))}
    </div>
  );
}

interface ReadyProps<T> {
  readonly of: Pick<Resource<T>, 'data' | 'problem' | 'isStale' | 'reload'>;
  readonly skeleton?: ComponentChildren;
  readonly children: (data: T) => ComponentChildren;
}

/** Shows loaded data; before that a skeleton, or the problem. */
export function Ready<T>({ of, skeleton = <Skeleton />, children }: ReadyProps<T>) {
  const { data, problem, isStale, reload } = of;
  const failed = problem !== undefined && (
    <ProblemNotice problem={problem} onRetry={() => void reload()} />
  );
  if (data === undefined) {
    return (
      <div aria-busy={failed === false ? 'true' : undefined}>
        {failed === false ? <span class="unseen">Loading…</span> : failed}
        {failed === false && skeleton}
      </div>
    );
  }
  return (
    <div class={isStale ? 'stale' : undefined} aria-busy={isStale ? 'true' : undefined}>
      {failed}
      {children(data)}
    </div>
  );
}
