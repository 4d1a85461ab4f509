/** Turkish, with siz. */
import type { LanguageWords } from '../language-words.ts';

export const tr: LanguageWords = {
  contact: 'Bize ulaşın',
  pages: {
    unknown: {
      title: 'Bu kod hiçbir yere götürmüyor',
      text: 'Bu koddaki bağlantı bulunamadı. Kod yanlış basılmış veya yanlış okunmuş olabilir.',
      help: 'Lütfen biraz daha yakından ve iyi bir ışıkta yeniden tarayın.',
    },
    deleted: {
      title: 'Bu kod artık kullanılmıyor',
      text: 'Bir süre kullanıldı ve ardından kapatıldı. Telefonunuz kodu doğru okudu.',
      help: 'Nereye gidebileceğinizi kodu buraya koyanlar söyleyebilir.',
    },
    paused: {
      title: 'Bu koda ara verildi',
      text: 'Kod bir süreliğine kapatıldı. Telefonunuz kodu doğru okudu.',
      help: 'Lütfen daha sonra yeniden deneyin veya kodu buraya koyanlara sorun.',
    },
    not_started: {
      title: 'Bu kod henüz etkin değil',
      text: 'Erken geldiniz: kod daha sonra açılacak. Telefonunuz kodu doğru okudu.',
      help: 'Lütfen daha sonra yeniden tarayın. Ne zaman açılacağını kodu buraya koyanlar söyleyebilir.',
    },
    expired: {
      title: 'Bu kodun süresi doldu',
      text: 'Sınırlı bir süre için geçerliydi ve bu süre sona erdi. Telefonunuz kodu doğru okudu.',
      help: 'Nereye gidebileceğinizi kodu buraya koyanlar söyleyebilir.',
    },
    used_up: {
      title: 'Bu kodun kullanım hakkı bitti',
      text: 'Kod sınırlı sayıda taranabiliyordu ve bu sayıya ulaşıldı. Telefonunuz kodu doğru okudu.',
      help: 'Nereye gidebileceğinizi kodu buraya koyanlar söyleyebilir.',
    },
    damaged: {
      title: 'Bu kod şu anda açılamıyor',
      text: 'Telefonunuz kodu doğru okudu, ancak nereye götürdüğü güvenli biçimde belirlenemedi.',
      help: 'Lütfen daha sonra yeniden deneyin. Bu arada kodu buraya koyanlar size yardımcı olabilir.',
    },
    throttled: {
      title: 'Bir dakika lütfen',
      text: 'Ağınızdan kısa sürede çok sayıda kod denendi, bu yüzden kısa bir ara veriyoruz.',
      help: 'Lütfen kodu bir dakika sonra yeniden tarayın.',
    },
    method: {
      title: 'Bu adres tarama içindir',
      text: 'Açılabilir, ancak buraya bir şey gönderilemez.',
      help: 'Lütfen bir telefon kamerasıyla veya tarayıcıda açın.',
    },
  },
};
