/**
 * May a code look like this? Asked before a design is stored, and by those who try one.
 *
 *   shape -> logo (stored, or data made harmless) -> colours -> drawn and read back -> kept as it was
 *                                                                                       written, but for
 *                                                                                       the logo's name
 * The order is that of the cost: most faults are found without drawing anything. The plain look is read
 * back by the tests, for all contents, and by nobody else.
 */
import type { QrCodeRecord } from '../../model/code.ts';
import type { Design } from '../../model/design.ts';
import { Failure, type Fault } from '../../model/failure.ts';
import { type ImageSource, imageContent } from '../content.ts';
import { parseDesign } from './design.ts';
import type { ImageFormat } from '../draw/drawing.ts';
import { legibilityFaults } from './legibility.ts';
import { type LogoMediaType, logoMediaTypes } from '../logo/logo.ts';
import type { Logos } from '../logo/logos.ts';
import { logoId } from '../logo/logo-store.ts';
import { type Style, styleKey, styleOf, plainStyle } from './style.ts';
import type { LogoImage } from '../draw/picture.ts';
import type { ImageWork } from '../work.ts';

const dataUrl = /^data:(image\/[a-z+]+);base64,(.*)$/s;
/** Of a design's shape that leave a reader less to go by, with what helps. */
const largeLogoScale = 0.18;
const marginAdvised = 4;

export interface ScannabilityCheckOptions {
  readonly work: ImageWork;
  readonly logos: Logos;
  readonly shortUrlBase: string;
}

/** A design that was found good, and its logo. */
interface Judged {
  /** A logo given as data has its name here already, stored or not. */
  readonly design: Design;
  readonly look: Style;
  readonly logo: LogoImage | undefined;
}

export class ScannabilityCheck {
  readonly #options: ScannabilityCheckOptions;

  constructor(options: ScannabilityCheckOptions) {
    this.#options = options;
  }

  /**
   * @returns the design as it is kept: as written, its logo by name
   * @throws Failure validation_failed, unscannable, conflict (too many logos), overloaded, storage_full
   */
  async accept(
    workspaceNo: number,
    code: Pick<QrCodeRecord, 'dynamic' | 'shortCode' | 'target'>,
    given: object,
  ): Promise<Design> {
    const content = imageContent(code, this.#options.shortUrlBase);
    const { design, logo } = await this.#judge(workspaceNo, content, given);
    if (logo !== undefined) await this.#options.logos.keep(workspaceNo, logo);
    return design;
  }

  /**
   * The image that a code would have; nothing is stored.
   * @throws Failure validation_failed, unscannable, overloaded
   */
  async preview(
    workspaceNo: number,
    code: ImageSource,
    given: object,
    image: { readonly format: ImageFormat; readonly size: number },
  ): Promise<Uint8Array> {
    const content = imageContent(code, this.#options.shortUrlBase);
    const { look, logo } = await this.#judge(workspaceNo, content, given);
    return await this.#options.work.draw({ ...image, content, look, logo });
  }

  async #judge(workspaceNo: number, content: string, given: object): Promise<Judged> {
    const parsed = parseDesign(given);
    if ('faults' in parsed) throw invalid(parsed.faults);
    const logo = await this.#logoOf(workspaceNo, parsed.design.logo);
    const design =
      logo === undefined ? parsed.design : { ...parsed.design, logo: logoId(logo.png) };
    const look = styleOf(design);
    const faults = legibilityFaults(look, design);
    if (faults.length > 0)
      throw unscannable('The colours cannot be told apart by a reader', faults);
    if (styleKey(look) !== styleKey(plainStyle))
      await this.#readBack(content, { design, look, logo });
    return { design, look, logo };
  }

  async #readBack(content: string, { design, look, logo }: Judged): Promise<void> {
    const isRead = await this.#options.work
      .isScannable({ content, look, logo })
      .catch((error: unknown) => {
        throw blameDesign(error, look);
      });
    if (isRead) return;
    const message = `A reader did not find in the image what it should say: ${advice(design, look)}`;
    throw unscannable(message, [{ path: 'design', code: 'unreadable', message }]);
  }

  async #logoOf(workspaceNo: number, text: string | undefined): Promise<LogoImage | undefined> {
    if (text === undefined) return undefined;
    const { logos, work } = this.#options;
    const [, mediaType, data = ''] = dataUrl.exec(text) ?? [];
    const known = logoMediaTypes.find((type): type is LogoMediaType => type === mediaType);
    if (known !== undefined) return await work.cleanLogo(Buffer.from(data, 'base64'), known);
    const logo = logos.find(workspaceNo, text);
    if (logo !== undefined) return await logos.picture(logo.id);
    const message = 'There is no such logo in this workspace';
    throw invalid([{ path: 'design.logo', code: 'not_found', message }]);
  }
}

/** What most probably helps, most helpful first. */
function advice(design: Design, look: Style): string {
  const steps: string[] = [];
  if (look.logo !== undefined && look.errorCorrection !== 'H') {
    steps.push('use errorCorrection H with a logo');
  }
  if (look.logoScale > largeLogoScale) steps.push('make the logo smaller');
  if (look.marginModules < marginAdvised) steps.push(`use a margin of ${marginAdvised} modules`);
  if (look.dotStyle !== 'square') steps.push('use square modules');
  if (look.eyeStyle !== 'square') steps.push('use square eyes');
  if (design.gradient !== undefined) steps.push('use one dark colour');
  return steps.length === 0 ? 'shorten the content' : steps.join(', or ');
}

/** Content that fits a plain symbol and not this one is the design's fault. */
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
