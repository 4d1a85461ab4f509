/**
 * A button that opens a short list of actions. It closes on a choice, on Esc, on a click elsewhere, and when the
 * focus leaves. A choice returns the focus to the button, so that a dialog opened by it can return it too.
 */
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { Icon, type IconName } from './icon.tsx';

interface MenuProps {
  /** Its content is the button's name for screen readers. */
  readonly button: ComponentChildren;
  readonly buttonClass?: string;
  readonly align?: 'start' | 'end';
  readonly children: ComponentChildren;
}

export function Menu({ button, buttonClass, align = 'end', children }: MenuProps) {
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  const root = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!isOpen) return undefined;
    const away = (event: Event): void => {
      const isInside = event.target instanceof Node && root.current?.contains(event.target);
      if (isInside !== true) setOpen(false);
    };
    const keys = (event: KeyboardEvent): void =>
      onMenuKey(event, root.current, () => setOpen(false));
    document.addEventListener('pointerdown', away);
    document.addEventListener('keydown', keys);
    root.current?.querySelector<HTMLElement>('.menu-list a, .menu-list button')?.focus();
    return () => {
      document.removeEventListener('pointerdown', away);
      document.removeEventListener('keydown', keys);
    };
  }, [isOpen]);
  return (
    <div
      class="menu"
      ref={root}
      onFocusOut={(event) => {
        const { relatedTarget } = event;
        const isOutside =
          relatedTarget instanceof Node && root.current?.contains(relatedTarget) === false;
        if (isOutside) setOpen(false);
      }}
    >
      <button
        type="button"
        class={buttonClass ?? 'button button-plain button-medium'}
        aria-expanded={isOpen}
        aria-controls={id}
        onClick={() => setOpen(!isOpen)}
      >
        {button}
      </button>
      <div
        id={id}
        class={`menu-list menu-${align}`}
        hidden={!isOpen}
        onClick={() => {
          root.current?.querySelector('button')?.focus();
          setOpen(false);
        }}
      >
        {children}
      </div>
    </div>
  );
}

function onMenuKey(event: KeyboardEvent, root: HTMLElement | null, close: () => void): void {
  if (root === null) return;
  if (event.key === 'Escape') {
    event.stopPropagation();
    close();
    root.querySelector('button')?.focus();
    return;
  }
  const items = [...root.querySelectorAll<HTMLElement>('.menu-list a, .menu-list button')];
  const at = items.findIndex((item) => item === document.activeElement);
  const places: Readonly<Record<string, number>> = {
    ArrowDown: (at + 1) % items.length,
    ArrowUp: (Math.max(at, 0) - 1 + items.length) % items.length,
    Home: 0,
    End: items.length - 1,
  };
  const place = places[event.key];
  if (place === undefined) return;
  event.preventDefault();
  items[place]?.focus();
}

interface ItemProps {
  readonly icon?: IconName;
  readonly onClick?: () => void;
  readonly href?: string;
  readonly tone?: 'danger';
  readonly isCurrent?: boolean;
  readonly children: ComponentChildren;
}

export function MenuItem({ icon, onClick, href, tone, isCurrent, children }: ItemProps) {
  const inside = (
    <>
      {icon && <Icon name={icon} size={16} />}
      <span>{children}</span>
      {isCurrent === true && <Icon name="check" size={16} />}
    </>
  );
  const className = `menu-item${tone === undefined ? '' : ` menu-${tone}`}`;
  if (href !== undefined) {
    return (
      <a class={className} href={href}>
        {inside}
      </a>
    );
  }
  return (
    <button
      type="button"
      class={className}
      onClick={onClick}
      {...(isCurrent === true ? { 'aria-current': 'true' } : {})}
    >
      {inside}
    </button>
  );
}
