/**
 * Reorders a list by dragging a handle with mouse, pen or finger, or with the arrow keys. During a drag only a line
 * moves, which marks the new position: a moving row would lose the pointer.
 */
import { useRef, useState } from 'preact/hooks';

interface Drag {
  readonly from: number;
  /** The row moves before the row at this index; the length of the list = to the end. */
  readonly before: number;
}

interface HandleProps {
  readonly onPointerDown: (event: PointerEvent) => void;
  readonly onPointerMove: (event: PointerEvent) => void;
  readonly onPointerUp: () => void;
  readonly onPointerCancel: () => void;
  readonly onKeyDown: (event: KeyboardEvent) => void;
}

export interface Reorder {
  /** The list element; its first children are the rows. */
  readonly list: { readonly current: HTMLOListElement | null };
  /** Index of the line, or undefined. */
  readonly before: number | undefined;
  readonly from: number | undefined;
  readonly handle: (at: number) => HandleProps;
}

/** @param count number of rows @param move takes the row's new index */
export function useReorder(count: number, move: (from: number, to: number) => void): Reorder {
  const list = useRef<HTMLOListElement>(null);
  const [drag, setDrag] = useState<Drag>();
  const placeOf = (y: number): number => {
    const rows = [...(list.current?.children ?? [])].slice(0, count);
    const below = rows.findIndex((row) => {
      const { top, height } = row.getBoundingClientRect();
      return y < top + height / 2;
    });
    return below === -1 ? count : below;
  };
  const drop = (): void => {
    setDrag(undefined);
    if (drag === undefined) return;
    const to = drag.before > drag.from ? drag.before - 1 : drag.before;
    if (to !== drag.from) move(drag.from, to);
  };
  const isMoving = drag !== undefined && drag.before !== drag.from && drag.before !== drag.from + 1;
  return {
    list,
    before: isMoving ? drag.before : undefined,
    from: drag?.from,
    handle: (at) => ({
      onPointerDown: (event) => {
        if (event.button !== 0) return;
        if (event.currentTarget instanceof Element) {
          event.currentTarget.setPointerCapture(event.pointerId);
        }
        setDrag({ from: at, before: at });
      },
      onPointerMove: (event) => {
        if (drag !== undefined) setDrag({ from: drag.from, before: placeOf(event.clientY) });
      },
      onPointerUp: drop,
      onPointerCancel: () => setDrag(undefined),
      onKeyDown: (event) => {
        const step = { ArrowUp: -1, ArrowDown: 1 }[event.key] ?? 0;
        const to = at + step;
        if (step === 0 || to < 0 || to >= count) return;
        event.preventDefault();
        move(at, to);
      },
    }),
  };
}
