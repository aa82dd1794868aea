// What can be undone and redone: entries of two lists of operations each.

export const past = [];
export const future = [];

export function remember(entry) {
  past.push(entry);
  future.length = 0;
}

export function forget() {
  past.length = future.length = 0;
}
