/** German, with Sie. */
import type { LanguageWords } from '../language-words.ts';

export const de: LanguageWords = {
  contact: 'Kontakt aufnehmen',
  pages: {
    unknown: {
      title: 'Dieser Code führt nirgendwohin',
      text: 'Der Link in diesem Code wurde nicht gefunden. Vielleicht ist er falsch gedruckt, oder er wurde falsch gelesen.',
      help: 'Bitte scannen Sie ihn noch einmal, etwas näher und bei gutem Licht.',
    },
    deleted: {
      title: 'Diesen Code gibt es nicht mehr',
      text: 'Er war eine Zeit lang in Gebrauch und wurde inzwischen abgeschaltet. Ihr Handy hat ihn richtig gelesen.',
      help: 'Wer ihn angebracht hat, kann Ihnen sagen, wie es weitergeht.',
    },
    paused: {
      title: 'Dieser Code macht gerade Pause',
      text: 'Er wurde vorübergehend abgeschaltet. Ihr Handy hat ihn richtig gelesen.',
      help: 'Bitte versuchen Sie es später noch einmal, oder fragen Sie dort, wo er angebracht ist.',
    },
    not_started: {
      title: 'Dieser Code gilt noch nicht',
      text: 'Sie sind früh dran: Sein Ziel öffnet erst später. Ihr Handy hat ihn richtig gelesen.',
      help: 'Bitte scannen Sie ihn später noch einmal. Wer ihn angebracht hat, kann Ihnen sagen, ab wann.',
    },
    expired: {
      title: 'Dieser Code ist abgelaufen',
      text: 'Er galt für eine begrenzte Zeit, und die ist vorbei. Ihr Handy hat ihn richtig gelesen.',
      help: 'Wer ihn angebracht hat, kann Ihnen sagen, wie es weitergeht.',
    },
    used_up: {
      title: 'Dieser Code ist aufgebraucht',
      text: 'Er konnte nur begrenzt oft gescannt werden, und das ist bereits geschehen. Ihr Handy hat ihn richtig gelesen.',
      help: 'Wer ihn angebracht hat, kann Ihnen sagen, wie es weitergeht.',
    },
    damaged: {
      title: 'Dieser Code lässt sich gerade nicht öffnen',
      text: 'Ihr Handy hat ihn richtig gelesen, aber sein Ziel ließ sich nicht sicher ermitteln.',
      help: 'Bitte versuchen Sie es später noch einmal. Wer ihn angebracht hat, kann Ihnen bis dahin weiterhelfen.',
    },
    throttled: {
      title: 'Einen Moment, bitte',
      text: 'Aus Ihrem Netz wurden in kurzer Zeit viele Codes ausprobiert, deshalb machen wir eine kurze Pause.',
      help: 'Bitte scannen Sie den Code in einer Minute noch einmal.',
    },
    method: {
      title: 'Diese Adresse ist zum Scannen da',
      text: 'Man kann sie öffnen, aber nichts an sie senden.',
      help: 'Bitte öffnen Sie sie mit der Kamera eines Handys oder in einem Browser.',
    },
  },
};
