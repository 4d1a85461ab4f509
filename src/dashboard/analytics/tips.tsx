/**
 * Shows the `data-tip` of the hovered or focused element in a box above it, within the page's width. Esc hides it.
 * Screen readers read the same text from the element.
 */
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

interface Tip {
  readonly text: string;
  /** Pixels from the left and the top of the container. */
  readonly x: number;
  readonly y: number;
}

/** Pixels between the box and its element. */
const gap = 8;

export function Tips({ children }: { readonly children: ComponentChildren }) {
  const place = useRef<HTMLDivElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const [tip, setTip] = useState<Tip | undefined>();
  useLayoutEffect(() => {
    const [outer, inner] = [place.current, box.current];
    if (tip === undefined || outer === null || inner === null) return;
    const left = Math.min(tip.x - inner.offsetWidth / 2, outer.clientWidth - inner.offsetWidth);
    const above = tip.y - inner.offsetHeight - gap;
    inner.style.left = `${Math.max(0, left)}px`;
    inner.style.top = `${above}px`;
  }, [tip]);
  const show = (event: Event): void => {
    const element = event.target instanceof Element ? event.target.closest('[data-tip]') : null;
    const text = element?.getAttribute('data-tip') ?? '';
    const from = place.current?.getBoundingClientRect();
    if (element === null || from === undefined) setTip(undefined);
    else setTip({ text, ...placeOf(event, element, from) });
  };
  const hide = (): void => setTip(undefined);
  return (
    <div
      class="tips"
      ref={place}
      onPointerMove={show}
      onPointerLeave={hide}
      onFocusIn={show}
      onFocusOut={hide}
      onKeyDown={({ key }) => key === 'Escape' && hide()}
    >
      {children}
      {tip !== undefined && (
        <div class="tip" ref={box} aria-hidden="true">
          {tip.text}
        </div>
      )}
    </div>
  );
}

/** At the pointer; for a focused element, at its center, or at `data-at`: fractions of its width and height. */
function placeOf(event: Event, element: Element, from: DOMRect): Pick<Tip, 'x' | 'y'> {
  if (event instanceof PointerEvent) {
    return { x: event.clientX - from.left, y: event.clientY - from.top };
  }
  const [across, down] = (element.getAttribute('data-at') ?? '').split(',').map(Number);
  if (across !== undefined && down !== undefined) {
    return { x: across * from.width, y: down * from.height };
  }
  const around = element.getBoundingClientRect();
  return { x: around.left + around.width / 2 - from.left, y: around.top - from.top };
}
