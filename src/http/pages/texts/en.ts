/** English. */
import type { LanguageWords } from '../language-words.ts';

export const en: LanguageWords = {
  contact: 'Contact us',
  pages: {
    unknown: {
      title: 'This code leads nowhere',
      text: 'The link in this code was not found. It may have been misprinted, or read wrongly.',
      help: 'Please scan it once more, a little closer and in good light.',
    },
    deleted: {
      title: 'This code has ended',
      text: 'It was in use for a while and has since been switched off. Your phone read it correctly.',
      help: 'The people who put it up can tell you where to go instead.',
    },
    paused: {
      title: 'This code is paused',
      text: 'It has been switched off for a while. Your phone read it correctly.',
      help: 'Please try again later, or ask the people who put it up.',
    },
    not_started: {
      title: 'This code has not begun yet',
      text: 'You are early: where it leads opens later. Your phone read it correctly.',
      help: 'Please scan it again later. The people who put it up can tell you when.',
    },
    expired: {
      title: 'This code has expired',
      text: 'It was valid for a limited time, which is over. Your phone read it correctly.',
      help: 'The people who put it up can tell you where to go instead.',
    },
    used_up: {
      title: 'This code is used up',
      text: 'It could be scanned a limited number of times, and all of them are used. Your phone read it correctly.',
      help: 'The people who put it up can tell you where to go instead.',
    },
    damaged: {
      title: 'This code cannot be opened right now',
      text: 'Your phone read it correctly, but where it leads could not be looked up safely.',
      help: 'Please try again later. The people who put it up can tell you where to go meanwhile.',
    },
    throttled: {
      title: 'One moment, please',
      text: 'Many codes were tried from your network in a short time, so we are taking a short break.',
      help: 'Please scan the code again in a minute.',
    },
    method: {
      title: 'This address is for scanning',
      text: 'It can be opened, but nothing can be sent to it.',
      help: 'Please open it with the camera of a phone, or in a browser.',
    },
  },
};
