/** Spanish, in forms that fit both sides of the Atlantic. */
import type { LanguageWords } from '../language-words.ts';

export const es: LanguageWords = {
  contact: 'Contactar',
  pages: {
    unknown: {
      title: 'Este código no lleva a ninguna parte',
      text: 'No se encontró el enlace de este código. Puede que esté mal impreso o que se haya leído mal.',
      help: 'Escanéelo otra vez, un poco más cerca y con buena luz.',
    },
    deleted: {
      title: 'Este código ya no está en uso',
      text: 'Estuvo en uso un tiempo y después se desactivó. Su teléfono lo leyó correctamente.',
      help: 'Quienes lo colocaron pueden indicarle adónde ir.',
    },
    paused: {
      title: 'Este código está en pausa',
      text: 'Se ha desactivado por un tiempo. Su teléfono lo leyó correctamente.',
      help: 'Inténtelo más tarde o pregunte a quienes lo colocaron.',
    },
    not_started: {
      title: 'Este código aún no está activo',
      text: 'Ha llegado pronto: se abrirá más adelante. Su teléfono lo leyó correctamente.',
      help: 'Escanéelo de nuevo más tarde. Quienes lo colocaron pueden decirle cuándo.',
    },
    expired: {
      title: 'Este código ha caducado',
      text: 'Era válido por un tiempo limitado, que ya ha terminado. Su teléfono lo leyó correctamente.',
      help: 'Quienes lo colocaron pueden indicarle adónde ir.',
    },
    used_up: {
      title: 'Este código está agotado',
      text: 'Podía escanearse un número limitado de veces y ya se han usado todas. Su teléfono lo leyó correctamente.',
      help: 'Quienes lo colocaron pueden indicarle adónde ir.',
    },
    damaged: {
      title: 'Este código no se puede abrir en este momento',
      text: 'Su teléfono lo leyó correctamente, pero no se pudo comprobar con seguridad adónde lleva.',
      help: 'Inténtelo más tarde. Mientras tanto, quienes lo colocaron pueden orientarle.',
    },
    throttled: {
      title: 'Un momento, por favor',
      text: 'Desde su red se han probado muchos códigos en poco tiempo, así que hacemos una breve pausa.',
      help: 'Escanee el código otra vez dentro de un minuto.',
    },
    method: {
      title: 'Esta dirección es para escanear',
      text: 'Se puede abrir, pero no se le puede enviar nada.',
      help: 'Ábrala con la cámara de un teléfono o en un navegador.',
    },
  },
};
