const { format } = new Intl.NumberFormat("en-GB"); // made once: ten thousand rows have figures

/** Thousands separated as on every page. */
export const number = (n) => format(n).replaceAll(",", "\u202f");

export const plural = (n, one, many) => `${number(n)} ${n === 1 ? one : many}`;
