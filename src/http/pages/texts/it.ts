/** Italian, polite and without a form of address where it can be. */
import type { LanguageWords } from '../language-words.ts';

export const it: LanguageWords = {
  contact: 'Contattaci',
  pages: {
    unknown: {
      title: 'Questo codice non porta da nessuna parte',
      text: 'Il link di questo codice non è stato trovato. Forse è stato stampato o letto male.',
      help: 'Prova a scansionarlo di nuovo, un po’ più da vicino e con una buona luce.',
    },
    deleted: {
      title: 'Questo codice non è più attivo',
      text: 'È stato in uso per un periodo e poi disattivato. Il telefono l’ha letto correttamente.',
      help: 'Chi lo ha esposto può dirti dove andare.',
    },
    paused: {
      title: 'Questo codice è in pausa',
      text: 'È stato disattivato per un po’. Il telefono l’ha letto correttamente.',
      help: 'Riprova più tardi, oppure chiedi a chi lo ha esposto.',
    },
    not_started: {
      title: 'Questo codice non è ancora attivo',
      text: 'Sei in anticipo: si aprirà più avanti. Il telefono l’ha letto correttamente.',
      help: 'Scansionalo di nuovo più tardi. Chi lo ha esposto può dirti quando.',
    },
    expired: {
      title: 'Questo codice è scaduto',
      text: 'Era valido per un periodo limitato, ormai terminato. Il telefono l’ha letto correttamente.',
      help: 'Chi lo ha esposto può dirti dove andare.',
    },
    used_up: {
      title: 'Questo codice è esaurito',
      text: 'Poteva essere scansionato un numero limitato di volte, ormai raggiunto. Il telefono l’ha letto correttamente.',
      help: 'Chi lo ha esposto può dirti dove andare.',
    },
    damaged: {
      title: 'Al momento questo codice non si può aprire',
      text: 'Il telefono l’ha letto correttamente, ma non è stato possibile verificare dove porta.',
      help: 'Riprova più tardi. Nel frattempo può aiutarti chi lo ha esposto.',
    },
    throttled: {
      title: 'Un momento, per favore',
      text: 'Dalla tua rete sono stati provati molti codici in poco tempo, perciò facciamo una breve pausa.',
      help: 'Scansiona di nuovo il codice tra un minuto.',
    },
    method: {
      title: 'Questo indirizzo serve per la scansione',
      text: 'Si può aprire, ma non gli si può inviare nulla.',
      help: 'Aprilo con la fotocamera di un telefono o in un browser.',
    },
  },
};
