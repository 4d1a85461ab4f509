/**
 * Where visitors of the demo come from: networks of 1,024 addresses that the bundled table of places knows as one city, four
 * to six a city. They are of real providers, so that scans are placed as an operator's would be; nothing is sent to them.
 */
export interface City {
  /** As the table of places names it. */
  readonly name: string;
  /** ISO 3166-1 alpha-2. */
  readonly country: string;
  /** What most phones there ask for, BCP 47. */
  readonly language: string;
  /** First addresses of its networks, as numbers. */
  readonly networks: readonly number[];
}

/** Addresses of a network. */
export const networkSize = 1_024;

/** city, country | language | first three bytes of each network */
const table = `
Berlin, DE | de | 2.27.88 91.3.240 141.9.0 79.132.68 164.60.0
Potsdam, DE | de | 77.180.8 80.86.0 84.129.100 87.159.176 92.42.224 139.17.0
Hamburg, DE | de | 31.18.16 81.18.104 91.11.224 134.28.0 178.23.52
Munich, DE | de | 23.0.88 46.114.8 62.52.192 81.24.64 87.142.144
Leipzig, DE | de | 2.160.4 77.64.136 84.151.128 91.21.112 109.104.32 176.1.20
Vienna, AT | de | 2.17.96 44.143.0 81.3.196 92.42.136 138.22.0
Graz, AT | de | 37.143.184 77.75.16 84.234.56 91.119.200 143.50.0
Salzburg, AT | de | 5.252.12 81.25.216 83.136.32 89.26.0 141.201.0
Linz, AT | de | 5.159.0 31.193.160 79.174.96 83.164.0 86.56.180
Zurich, CH | de | 72.63.240 87.239.208 109.121.112 145.40.196 40.119.80
Winterthur, CH | de | 5.180.132 45.14.60 141.195.80 160.85.0 185.119.104
Basel, CH | de | 80.241.96 92.104.84 147.167.0 162.86.0 192.37.0
Geneva, CH | fr | 45.10.168 80.94.144 93.88.240 151.145.196
Lausanne, CH | fr | 45.140.216 78.40.72 85.217.160 94.103.104 130.223.4
Lisbon, PT | pt-PT | 46.102.20 85.88.140 109.50.0 160.202.52 193.126.0
Porto, PT | pt-PT | 5.43.0 37.28.196 83.174.0 89.114.168 95.136.12
Braga, PT | pt-PT | 193.136.8 193.136.16 193.137.8 193.137.12
London, GB | en-GB | 1.178.12 2.17.4 4.158.0 5.10.16
Croydon, GB | en-GB | 31.55.192 80.209.188 94.173.152 138.104.0 185.35.148
Manchester, GB | en-GB | 46.37.160 81.26.104 149.71.224 176.124.52
Bristol, GB | en-GB | 2.96.88 82.32.28 87.237.64 91.197.92
Edinburgh, GB | en-GB | 82.43.220 92.234.148 154.47.108 178.17.64
Dublin, IE | en-IE | 2.17.172 13.69.128 32.105.104 40.67.224
Chicago, US | en-US | 16.56.128 40.80.184 70.37.140 84.32.128 2.16.232
Evanston, US | en-US | 66.146.192 75.28.176 99.32.20 108.208.100 162.206.140
Naperville, US | en-US | 76.217.228 107.137.240 138.120.0 206.173.120
Milwaukee, US | en-US | 23.119.176 69.176.80 99.2.192 192.227.32
New York, US | en-US | 4.23.84 5.157.160 8.0.28 9.142.64
San Francisco, US | en-US | 50.31.32 73.93.232 101.53.160 136.26.192
Toronto, CA | en-CA | 13.71.160 23.5.96 40.80.44 67.21.224
Paris, FR | fr | 1.179.112 35.96.64 43.118.0 48.208.164
Lyon, FR | fr | 2.3.92 62.34.28 83.152.16 91.205.116
Brussels, BE | fr | 31.193.44 45.13.100 79.170.56 86.39.16
Amsterdam, NL | nl | 5.2.76 31.11.56 38.45.120 44.137.0
Copenhagen, DK | da | 2.106.40 57.86.64 83.72.0 182.160.40
Stockholm, SE | sv | 20.240.76 50.93.104 85.8.24 94.127.32
Madrid, ES | es | 18.101.80 37.1.176 57.78.192 84.16.0
Barcelona, ES | es | 45.12.152 81.61.140 90.69.212 178.57.128
Milan, IT | it | 14.137.144 31.26.0 45.10.84 66.39.196
Rome, IT | it | 82.24.152 94.33.152 146.133.8 176.103.248
Warsaw, PL | pl | 51.68.136 79.98.144 89.65.48 109.95.136
Prague, CZ | cs | 45.81.96 81.0.192 91.102.100 160.218.0
Budapest, HU | hu | 2.59.196 84.0.16 94.21.4 176.63.32
Istanbul, TR | tr | 80.238.164 94.73.176 141.98.116 184.25.16
Osaka, JP | ja | 36.10.4 54.230.184 65.99.0 101.140.0
Sydney, AU | en-AU | 1.44.160 9.237.32 37.209.192 44.136.8
Sao Paulo, BR | pt-BR | 37.148.132 69.6.208 139.122.208 155.204.188
`;

export const cities: ReadonlyMap<string, City> = new Map(
  table
    .trim()
    .split('\n')
    .map((line) => {
      const [name = '', language = '', networks = ''] = line.split(' | ');
      const country = name.slice(-2);
      return [name, { name, country, language, networks: networks.split(' ').map(firstAddress) }];
    }),
);

export function cityOf(name: string): City {
  const found = cities.get(name);
  if (found === undefined) throw new Error(`Cannot find ${name}: expected a city of the table`);
  return found;
}

function firstAddress(network: string): number {
  const [first = 0, second = 0, third = 0] = network.split('.').map(Number);
  return ((first << 24) | (second << 16) | (third << 8)) >>> 0;
}

export function addressBytes(address: number): Uint8Array {
  return Uint8Array.of(address >>> 24, address >>> 16, address >>> 8, address);
}

export const addressText = (address: number): string => addressBytes(address).join('.');
