/** Thousands separated as on every page. */
export const number = (n) => n.toLocaleString("en-GB").replaceAll(",", "\u202f");

export const plural = (n, one, many) => `${number(n)} ${n === 1 ? one : many}`;
