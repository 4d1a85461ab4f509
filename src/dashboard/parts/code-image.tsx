/** The picture of a code, small, in a place of its size. */
interface CodeImageProps {
  readonly url: string;
  readonly size: number;
  readonly alt?: string;
}

/**
 * The picture at this origin, whatever address of it is public: the page may be open under another name, and
 * its policy loads pictures from its own origin alone. Always with a query.
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
