const { format } = new Intl.NumberFormat("en-GB"); // made once: ten thousand rows have figures

/** Thousands separated as on every page. */
export const number = (n) => format(n).replaceAll(",", "\u202f");

export const plural = (n, one, many) => `${number(n)} ${n === 1 ? one : many}`;

const past = new Intl.RelativeTimeFormat("en");
const UNITS = [["day", 86_400_000], ["hour", 3_600_000], ["minute", 60_000]];

/** How long ago a time in milliseconds is. */
export function ago(at) {
  const [unit, length] = UNITS.find((each) => Date.now() - at >= each[1]) ?? [];
  return unit ? past.format(-Math.floor((Date.now() - at) / length), unit) : "a moment ago";
}
