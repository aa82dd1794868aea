export function newUid(bytes = 16) {
  // randomUUID is missing on plain HTTP.
  return [...crypto.getRandomValues(new Uint8Array(bytes))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
