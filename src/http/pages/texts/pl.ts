/** Polish, impersonal and polite. */
import type { LanguageWords } from '../language-words.ts';

export const pl: LanguageWords = {
  contact: 'Kontakt',
  pages: {
    unknown: {
      title: 'Ten kod donikąd nie prowadzi',
      text: 'Nie znaleziono linku z tego kodu. Być może został źle wydrukowany lub źle odczytany.',
      help: 'Prosimy zeskanować go jeszcze raz, z nieco mniejszej odległości i przy dobrym świetle.',
    },
    deleted: {
      title: 'Ten kod nie jest już używany',
      text: 'Był używany przez pewien czas, a potem został wyłączony. Telefon odczytał go poprawnie.',
      help: 'Informacji, dokąd się udać, udzielą osoby, które go umieściły.',
    },
    paused: {
      title: 'Ten kod jest wstrzymany',
      text: 'Został wyłączony na pewien czas. Telefon odczytał go poprawnie.',
      help: 'Prosimy spróbować później lub zapytać osoby, które go umieściły.',
    },
    not_started: {
      title: 'Ten kod jeszcze nie działa',
      text: 'Jest jeszcze za wcześnie: kod zacznie działać później. Telefon odczytał go poprawnie.',
      help: 'Prosimy zeskanować go ponownie później. Osoby, które go umieściły, powiedzą kiedy.',
    },
    expired: {
      title: 'Ten kod stracił ważność',
      text: 'Był ważny przez ograniczony czas, który już minął. Telefon odczytał go poprawnie.',
      help: 'Informacji, dokąd się udać, udzielą osoby, które go umieściły.',
    },
    used_up: {
      title: 'Ten kod został wykorzystany',
      text: 'Można go było zeskanować ograniczoną liczbę razy i limit został wyczerpany. Telefon odczytał go poprawnie.',
      help: 'Informacji, dokąd się udać, udzielą osoby, które go umieściły.',
    },
    damaged: {
      title: 'Tego kodu nie można teraz otworzyć',
      text: 'Telefon odczytał go poprawnie, ale nie udało się bezpiecznie ustalić, dokąd prowadzi.',
      help: 'Prosimy spróbować później. Tymczasem pomogą osoby, które go umieściły.',
    },
    throttled: {
      title: 'Chwileczkę',
      text: 'Z tej sieci w krótkim czasie wypróbowano wiele kodów, dlatego robimy krótką przerwę.',
      help: 'Prosimy zeskanować kod ponownie za minutę.',
    },
    method: {
      title: 'Ten adres służy do skanowania',
      text: 'Można go otworzyć, ale nie można nic na niego wysłać.',
      help: 'Prosimy otworzyć go aparatem telefonu lub w przeglądarce.',
    },
  },
};
