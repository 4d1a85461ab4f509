/**
 * Accepts or refuses a design, before it is stored and for previews.
 *
 *   schema -> logo (find it, or clean the data) -> colors -> draw and decode -> the design as written,
 *                                                                               its logo by name
 *
 * Cheap checks come first: most faults are found without drawing anything. The plain style is not decoded
 * here; tests prove it for all kinds of content.
 */
import type { QrCodeRecord } from '../../../model/code.ts';
import type { Design } from '../../../model/design.ts';
import { Failure, type Fault } from '../../../model/failure.ts';
import { type ImageSource, imageContent } from '../content.ts';
import { logoDataUrl, parseDesign, readDataUrl } from './design.ts';
import type { ImageFormat } from '../formats.ts';
import { contrast, luminance, type Rgb } from '../../../model/design/color.ts';
import { logoId, type Logos } from '../logo/logos.ts';
import {
  type Paint,
  plainStyle,
  samePaint,
  type Style,
  styleKey,
  styleOf,
  white,
} from './style.ts';
import type { LogoImage } from '../draw/picture.ts';
import type { ImageTasks } from '../tasks.ts';
import type { WorkspaceNo } from '../../../model/numbers.ts';

/** What `advice` suggests to stay below, or to reach. */
const largeLogoScale = 0.18;
const marginAdvised = 4;

export interface ScannabilityCheckOptions {
  readonly tasks: ImageTasks;
  readonly logos: Logos;
  readonly shortUrlBase: string;
}

interface CheckedDesign {
  /** A logo given as data is named here already, stored or not. */
  readonly design: Design;
  readonly style: Style;
  readonly logo: LogoImage | undefined;
}

export class ScannabilityCheck {
  readonly #options: ScannabilityCheckOptions;

  constructor(options: ScannabilityCheckOptions) {
    this.#options = options;
  }

  /**
   * Stores the design's logo. @returns the design to store: as written, its logo by name
   * @throws Failure validation_failed, unscannable, conflict (too many logos), overloaded, storage_full
   */
  async accept(
    workspaceNo: WorkspaceNo,
    code: Pick<QrCodeRecord, 'dynamic' | 'shortCode' | 'target'>,
    given: object,
  ): Promise<Design> {
    const content = imageContent(code, this.#options.shortUrlBase);
    const { design, logo } = await this.#check(workspaceNo, content, given);
    if (logo !== undefined) await this.#options.logos.store(workspaceNo, logo);
    return design;
  }

  /**
   * Draws the image that a code would have; nothing is stored.
   * @throws Failure validation_failed, unscannable, overloaded
   */
  async preview(
    workspaceNo: WorkspaceNo,
    code: ImageSource,
    given: object,
    image: { readonly format: ImageFormat; readonly size: number },
  ): Promise<Uint8Array> {
    const content = imageContent(code, this.#options.shortUrlBase);
    const { style, logo } = await this.#check(workspaceNo, content, given);
    return await this.#options.tasks.draw({ ...image, content, style, logo });
  }

  async #check(workspaceNo: WorkspaceNo, content: string, given: object): Promise<CheckedDesign> {
    const parsed = parseDesign(given);
    if ('faults' in parsed) throw invalid(parsed.faults);
    const logo = await this.#logoOf(workspaceNo, parsed.design.logo);
    const design =
      logo === undefined ? parsed.design : { ...parsed.design, logo: logoId(logo.png) };
    const style = styleOf(design);
    const faults = legibilityFaults(style, design);
    if (faults.length > 0) throw unscannable('A reader cannot tell the colors apart', faults);
    if (styleKey(style) !== styleKey(plainStyle))
      await this.#readBack(content, { design, style, logo });
    return { design, style, logo };
  }

  async #readBack(content: string, { design, style, logo }: CheckedDesign): Promise<void> {
    const isRead = await this.#options.tasks
      .isScannable({ content, style, logo })
      .catch((error: unknown) => {
        throw blameDesign(error, style);
      });
    if (isRead) return;
    const message = `A reader cannot read the image: ${advice(design, style)}`;
    throw unscannable(message, [{ path: 'design', code: 'unreadable', message }]);
  }

  async #logoOf(
    workspaceNo: WorkspaceNo,
    text: string | undefined,
  ): Promise<LogoImage | undefined> {
    if (text === undefined) return undefined;
    const { logos, tasks } = this.#options;
    if (logoDataUrl.test(text)) {
      const { bytes, mediaType } = readDataUrl(text);
      return await tasks.cleanLogo(bytes, mediaType);
    }
    const logo = logos.find(workspaceNo, text);
    if (logo !== undefined) return logos.picture(logo.id);
    const message = 'There is no logo with this id';
    throw invalid([{ path: 'design.logo', code: 'not_found', message }]);
  }
}

/** What is most likely to help, first things first. */
function advice(design: Design, style: Style): string {
  const steps: string[] = [];
  if (style.logo !== undefined && style.errorCorrection !== 'H') {
    steps.push('use errorCorrection H with a logo');
  }
  if (style.logoScale > largeLogoScale) steps.push('make the logo smaller');
  if (style.marginModules < marginAdvised) steps.push(`use a margin of ${marginAdvised} modules`);
  if (style.dotStyle !== 'square') steps.push('use square modules');
  if (style.eyeStyle !== 'square') steps.push('use square finder patterns');
  if (design.gradient !== undefined) steps.push('use one dark color');
  return steps.length === 0 ? 'shorten the content' : steps.join(', or ');
}

/** Content that fits at error correction M but not at the design's is a fault of the design. */
function blameDesign(error: unknown, { errorCorrection }: Style): unknown {
  if (!(error instanceof Failure) || error.faults[0]?.code !== 'too_long') return error;
  const message = `The content does not fit a symbol with error correction ${errorCorrection}: lower it, or shorten the content`;
  return invalid([{ path: 'design.errorCorrection', code: 'too_long', message }]);
}

function invalid(faults: readonly Fault[]): Failure {
  return new Failure('validation_failed', 'The design cannot be used', { faults });
}

function unscannable(detail: string, faults: readonly Fault[]): Failure {
  return new Failure('unscannable', detail, { faults });
}

/** Below this ratio, print, glare and cheap cameras make a code unreadable. */
const contrastMin = 3;

/**
 * Every color that cannot be read, each with advice: contrast of at least 3:1 to the background, dark on light.
 *
 * Many readers cannot read light on dark. Between the ends of a gradient no color is lighter than the lighter end, so both
 * ends are enough. A transparent background counts as white paper.
 */
export function legibilityFaults(style: Style, design: Design): Fault[] {
  const background = style.background ?? white;
  const backgroundName = style.background === undefined ? 'white paper' : 'the background';
  const drawn = colorsOf(style.modules, pathOf(style.modules));
  if (design.eyeColor !== undefined && !samePaint(style.finderPatterns, style.modules)) {
    drawn.push(...colorsOf(style.finderPatterns, 'design.eyeColor'));
  }
  return drawn.flatMap(([path, color]) => faultOf(path, color, background, backgroundName));
}

function faultOf(path: string, color: Rgb, background: Rgb, backgroundName: string): Fault[] {
  const ratio = contrast(color, background);
  if (luminance(color) > luminance(background)) {
    const message = `It is lighter than ${backgroundName}, and readers look for dark on light: swap the two, or darken it`;
    return [{ path, code: 'inverted', message }];
  }
  if (ratio >= contrastMin) return [];
  // Rounded down: 2.96 must not read as 3.0.
  const shown = (Math.floor(ratio * 10) / 10).toFixed(1);
  const message = `Its contrast to ${backgroundName} is ${shown}:1, expected at least ${contrastMin}:1: darken it, or lighten the background`;
  return [{ path, code: 'low_contrast', message }];
}

function pathOf(paint: Paint): string {
  return paint.kind === 'flat' ? 'design.foreground' : 'design.gradient';
}

function colorsOf(paint: Paint, path: string): Array<[path: string, color: Rgb]> {
  if (paint.kind === 'flat') return [[path, paint.color]];
  return [
    [`${path}.from`, paint.from],
    [`${path}.to`, paint.to],
  ];
}
