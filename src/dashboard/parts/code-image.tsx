/** The image of a code. */
interface CodeImageProps {
  readonly url: string;
  readonly size: number;
  readonly alt?: string;
}

/**
 * The image's address at this origin, always with a query. The public address may have another host, and the
 * page's policy loads images only from its own origin.
 */
export function ownImage(imageUrl: string, format: string): string {
  const { pathname, search } = new URL(imageUrl, location.href);
  const [name = ''] = (pathname.split('/').at(-1) ?? '').split('.');
  return `/i/${name}.${format}${search === '' ? '?' : search}`;
}

/** An SVG is sharp at any size, and costs a fifth of the PNG. */
export function CodeImage({ url, size, alt = '' }: CodeImageProps) {
  return (
    <img
      class="code-image"
      src={ownImage(url, 'svg')}
      width={size}
      height={size}
      alt={alt}
      loading="lazy"
      decoding="async"
    />
  );
}
