/** Portuguese, in words that are at home in Brazil and in Portugal. */
import type { LanguageWords } from '../language-words.ts';

export const pt: LanguageWords = {
  contact: 'Fale conosco',
  pages: {
    unknown: {
      title: 'Este código não leva a lugar nenhum',
      text: 'O link deste código não foi encontrado. Pode ter sido mal impresso ou mal lido.',
      help: 'Leia o código outra vez, um pouco mais de perto e com boa luz.',
    },
    deleted: {
      title: 'Este código já não está em uso',
      text: 'Esteve em uso durante algum tempo e depois foi desativado. O seu telefone leu o código corretamente.',
      help: 'Quem o colocou aqui pode indicar aonde ir.',
    },
    paused: {
      title: 'Este código está em pausa',
      text: 'Foi desativado por algum tempo. O seu telefone leu o código corretamente.',
      help: 'Tente de novo mais tarde ou pergunte a quem o colocou aqui.',
    },
    not_started: {
      title: 'Este código ainda não está ativo',
      text: 'Chegou cedo: ele só abre mais tarde. O seu telefone leu o código corretamente.',
      help: 'Leia o código de novo mais tarde. Quem o colocou aqui pode dizer quando.',
    },
    expired: {
      title: 'Este código expirou',
      text: 'Era válido por tempo limitado, que já terminou. O seu telefone leu o código corretamente.',
      help: 'Quem o colocou aqui pode indicar aonde ir.',
    },
    used_up: {
      title: 'Este código está esgotado',
      text: 'Podia ser lido um número limitado de vezes, e todas já foram usadas. O seu telefone leu o código corretamente.',
      help: 'Quem o colocou aqui pode indicar aonde ir.',
    },
    damaged: {
      title: 'Não é possível abrir este código neste momento',
      text: 'O seu telefone leu o código corretamente, mas não foi possível verificar aonde ele leva.',
      help: 'Tente de novo mais tarde. Entretanto, quem o colocou aqui pode ajudar.',
    },
    throttled: {
      title: 'Um momento, por favor',
      text: 'Muitos códigos foram tentados a partir da sua rede em pouco tempo, por isso fazemos uma breve pausa.',
      help: 'Leia o código de novo dentro de um minuto.',
    },
    method: {
      title: 'Este endereço é para leitura',
      text: 'Pode ser aberto, mas não se pode enviar nada para ele.',
      help: 'Abra-o com a câmera de um telefone ou num navegador.',
    },
  },
};
