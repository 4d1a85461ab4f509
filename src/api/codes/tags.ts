/** GET /qr-codes/tags: the tags that people choose from, so that one thing has one tag. */
import { z } from 'zod';
import type { Codes } from '../../product/codes/codes.ts';
import { tagLengthMax } from '../../product/codes/rules.ts';
import { count, queryInteger } from '../kernel/fields.ts';
import { getRoute } from '../kernel/resource.ts';
import type { Route } from '../kernel/route.ts';

const shownMax = 1_000;

const query = z.object({
  search: z.string().max(tagLengthMax).default('').meta({
    description: 'Text in the tag; case and accents are ignored',
    example: 'sum',
  }),
  limit: queryInteger(1, shownMax, 100).meta({ description: 'Maximum number of tags' }),
});

const tagList = z
  .object({
    data: z
      .array(
        z.object({
          tag: z
            .string()
            .meta({ description: 'The tag in the workspace’s spelling', example: 'Summer' }),
          count: count.meta({ description: 'Codes with this tag', example: 12 }),
        }),
      )
      .max(shownMax)
      .meta({ description: 'Most used first' }),
    total: count.meta({ description: 'Matching tags among the first 10,000', example: 3 }),
  })
  .meta({ id: 'TagList' });

export function tagRoutes(codes: Codes): Route[] {
  return [
    getRoute({
      path: '/qr-codes/tags',
      operationId: 'listTags',
      access: 'viewer',
      tag: 'QR codes',
      summary: 'List tags',
      description:
        'The tags of the workspace’s codes. Tags that differ only in case, accents or spaces are one tag, in the ' +
        'first spelling: `summer` becomes `Summer` if that exists.',
      query,
      schema: tagList,
      what: 'Tags with their counts',
      read: async ({ actor, query: { search, limit } }) => {
        const { data, total } = await codes.tags(actor.workspaceNo, { search, limit });
        return { data: data.map(({ tag, codes: having }) => ({ tag, count: having })), total };
      },
    }),
  ];
}
