/** Dutch, with je. */
import type { LanguageWords } from '../language-words.ts';

export const nl: LanguageWords = {
  contact: 'Neem contact op',
  pages: {
    unknown: {
      title: 'Deze code leidt nergens heen',
      text: 'De link in deze code is niet gevonden. Misschien is hij verkeerd gedrukt of verkeerd gelezen.',
      help: 'Scan de code nog een keer, iets dichterbij en bij goed licht.',
    },
    deleted: {
      title: 'Deze code is niet meer in gebruik',
      text: 'De code is een tijd gebruikt en daarna uitgeschakeld. Je telefoon heeft hem goed gelezen.',
      help: 'Wie de code heeft opgehangen, kan je zeggen waar je wel terechtkunt.',
    },
    paused: {
      title: 'Deze code is gepauzeerd',
      text: 'De code is tijdelijk uitgeschakeld. Je telefoon heeft hem goed gelezen.',
      help: 'Probeer het later nog eens, of vraag het aan wie de code heeft opgehangen.',
    },
    not_started: {
      title: 'Deze code is nog niet actief',
      text: 'Je bent er vroeg bij: de code gaat later open. Je telefoon heeft hem goed gelezen.',
      help: 'Scan de code later nog een keer. Wie hem heeft opgehangen, kan je zeggen wanneer.',
    },
    expired: {
      title: 'Deze code is verlopen',
      text: 'De code was een beperkte tijd geldig, en die is voorbij. Je telefoon heeft hem goed gelezen.',
      help: 'Wie de code heeft opgehangen, kan je zeggen waar je wel terechtkunt.',
    },
    used_up: {
      title: 'Deze code is opgebruikt',
      text: 'De code kon een beperkt aantal keren worden gescand, en dat aantal is bereikt. Je telefoon heeft hem goed gelezen.',
      help: 'Wie de code heeft opgehangen, kan je zeggen waar je wel terechtkunt.',
    },
    damaged: {
      title: 'Deze code kan nu niet worden geopend',
      text: 'Je telefoon heeft de code goed gelezen, maar we konden niet met zekerheid vaststellen waar hij heen leidt.',
      help: 'Probeer het later nog eens. Wie de code heeft opgehangen, kan je intussen helpen.',
    },
    throttled: {
      title: 'Een ogenblik, alsjeblieft',
      text: 'Vanaf je netwerk zijn in korte tijd veel codes geprobeerd, dus we nemen even pauze.',
      help: 'Scan de code over een minuut nog een keer.',
    },
    method: {
      title: 'Dit adres is om te scannen',
      text: 'Je kunt het openen, maar er niets naartoe sturen.',
      help: 'Open het met de camera van een telefoon of in een browser.',
    },
  },
};
