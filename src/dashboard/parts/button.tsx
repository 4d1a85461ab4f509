/** Buttons, and links that look like buttons. A busy button shows a spinner and ignores clicks. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Icon, type IconName } from './icon.tsx';

export type Tone = 'plain' | 'accent' | 'danger' | 'quiet';

interface Style {
  readonly tone?: Tone;
  readonly icon?: IconName;
  readonly size?: 'small' | 'medium';
  readonly children?: ComponentChildren;
}

interface ButtonProps extends Style {
  readonly onClick?: () => void;
  readonly type?: 'button' | 'submit';
  readonly isBusy?: boolean;
  readonly disabled?: boolean;
  /** Name of a button that only shows an icon. */
  readonly label?: string;
  readonly isPressed?: boolean;
  /** Takes the focus when it appears, as the next step of a dialog. */
  readonly hasFocus?: boolean;
}

const classOf = ({ tone = 'plain', size = 'medium', children }: Style): string =>
  `button button-${tone} button-${size}${children === undefined ? ' button-square' : ''}`;

export function Button(props: ButtonProps) {
  const { icon, children, onClick, type = 'button', isBusy = false, disabled = false } = props;
  const { label, isPressed, hasFocus = false } = props;
  const place = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (hasFocus) place.current?.focus();
  }, []);
  return (
    <button
      ref={place}
      type={type}
      // For a dialog that opens with it; the effect is for an open dialog.
      autofocus={hasFocus}
      class={classOf(props)}
      disabled={disabled}
      aria-disabled={isBusy ? 'true' : undefined}
      aria-busy={isBusy ? 'true' : undefined}
      aria-label={label}
      aria-pressed={isPressed}
      title={label}
      onClick={(event) => {
        if (isBusy) event.preventDefault();
        else onClick?.();
      }}
    >
      {isBusy ? <span class="spinner" aria-hidden="true" /> : icon && <Icon name={icon} />}
      {children !== undefined && <span>{children}</span>}
    </button>
  );
}

interface LinkProps extends Style {
  readonly href: string;
  readonly label?: string;
  readonly download?: boolean;
  readonly isNewTab?: boolean;
}

export function ButtonLink(props: LinkProps) {
  const { href, icon, children, label, download, isNewTab } = props;
  return (
    <a
      class={classOf(props)}
      href={href}
      aria-label={label}
      title={label}
      {...(download === true ? { download: '' } : {})}
      {...(isNewTab === true ? { target: '_blank', rel: 'noreferrer' } : {})}
    >
      {icon && <Icon name={icon} />}
      {children !== undefined && <span>{children}</span>}
    </a>
  );
}
