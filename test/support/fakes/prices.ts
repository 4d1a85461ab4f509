/** Prices for services under test: the defaults sell nothing. */
export const testPrices: Readonly<Record<string, string>> = {
  QZ_BILLING_PRICES_STARTER_MONTH: '9',
  QZ_BILLING_PRICES_STARTER_YEAR: '90',
  QZ_BILLING_PRICES_PRO_MONTH: '29',
  QZ_BILLING_PRICES_PRO_YEAR: '290',
  QZ_BILLING_PRICES_BUSINESS_MONTH: '99',
  QZ_BILLING_PRICES_BUSINESS_YEAR: '990',
};
