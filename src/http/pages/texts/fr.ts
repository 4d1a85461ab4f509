/** French, with vous. */
import type { LanguageWords } from '../language-words.ts';

export const fr: LanguageWords = {
  contact: 'Nous contacter',
  pages: {
    unknown: {
      title: 'Ce code ne mène nulle part',
      text: 'Le lien de ce code est introuvable. Il a peut-être été mal imprimé ou mal lu.',
      help: 'Scannez-le de nouveau, d’un peu plus près et avec un bon éclairage.',
    },
    deleted: {
      title: 'Ce code n’est plus en service',
      text: 'Il a été utilisé un certain temps, puis désactivé. Votre téléphone l’a lu correctement.',
      help: 'Les personnes qui l’ont affiché peuvent vous indiquer où aller.',
    },
    paused: {
      title: 'Ce code est en pause',
      text: 'Il est momentanément désactivé. Votre téléphone l’a lu correctement.',
      help: 'Réessayez plus tard, ou demandez aux personnes qui l’ont affiché.',
    },
    not_started: {
      title: 'Ce code n’est pas encore actif',
      text: 'Vous êtes en avance : il ouvrira plus tard. Votre téléphone l’a lu correctement.',
      help: 'Scannez-le de nouveau plus tard. Les personnes qui l’ont affiché peuvent vous dire quand.',
    },
    expired: {
      title: 'Ce code a expiré',
      text: 'Il était valable pour une durée limitée, désormais écoulée. Votre téléphone l’a lu correctement.',
      help: 'Les personnes qui l’ont affiché peuvent vous indiquer où aller.',
    },
    used_up: {
      title: 'Ce code est épuisé',
      text: 'Il pouvait être scanné un nombre limité de fois, et ce nombre est atteint. Votre téléphone l’a lu correctement.',
      help: 'Les personnes qui l’ont affiché peuvent vous indiquer où aller.',
    },
    damaged: {
      title: 'Ce code ne peut pas être ouvert pour le moment',
      text: 'Votre téléphone l’a lu correctement, mais sa destination n’a pas pu être vérifiée.',
      help: 'Réessayez plus tard. En attendant, les personnes qui l’ont affiché peuvent vous renseigner.',
    },
    throttled: {
      title: 'Un instant, s’il vous plaît',
      text: 'De nombreux codes ont été essayés depuis votre réseau en peu de temps : nous faisons une courte pause.',
      help: 'Scannez le code de nouveau dans une minute.',
    },
    method: {
      title: 'Cette adresse est faite pour être scannée',
      text: 'On peut l’ouvrir, mais rien ne peut y être envoyé.',
      help: 'Ouvrez-la avec l’appareil photo d’un téléphone ou dans un navigateur.',
    },
  },
};
